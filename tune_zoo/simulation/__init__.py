"""A search rehearsed against made-up or recorded outcomes: what it would ask for, spend and conclude."""

"""What the commands do, told apart from how they are called: a module a command."""

pytest_plugins = ["settled"]

"""A page and a service: the lake in a browser, and for any client."""

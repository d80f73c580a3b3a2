"""The views of the page, one in each module: what they show, and how they answer."""

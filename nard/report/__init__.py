"""What people read: the report's page with its captions, the Methods section, the explorer."""

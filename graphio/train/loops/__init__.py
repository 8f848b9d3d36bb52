"""Training loops: monitored sessions, hooks, the training loop, coordinators, histories."""

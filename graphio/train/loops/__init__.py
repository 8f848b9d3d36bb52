"""Training loops: monitored sessions, hooks, the training loop, coordinators, histories.

training_loop    tf.train.train; loop_arguments, stop_signals, progress
monitored_session  recovery after errors; hooked_session: hooks around runs; scaffold
supervisor       the loop before monitored sessions; supervisor_threads
hooks            the usual hooks; checkpoint_hook: saving
history, curves  numbers of a training, and plots of them
"""

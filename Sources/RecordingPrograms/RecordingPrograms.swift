// This target depends on the agent, the collector and `tributary`, so one invocation builds them. None of them needs the packages
// of the viewer's HTTP server.

// SwiftPM builds one product or one target per invocation. This target depends on the four programs, so one invocation builds them all.

import Foundation
import Testing

extension EndToEnd {
    /// Signals that arrive before a program has its own handling of them.
    struct StartSignalTests {
        /// Starts a program for which a signal is pending: exec keeps it, and the mask that blocks it.
        private func start(
            _ program: Executable, _ arguments: [String], pending signal: String, on stage: Stage
        ) throws -> Running {
            let script = """
                import os, signal, sys
                number = getattr(signal, sys.argv[1])
                signal.pthread_sigmask(signal.SIG_BLOCK, [number])
                os.kill(os.getpid(), number)
                os.execv(sys.argv[2], sys.argv[2:])
                """
            return try stage.start(
                at: URL(filePath: "/usr/bin/env"),
                ["python3", "-c", script, signal, program.url.path] + arguments)
        }

        private func agentArguments(_ stage: Stage) -> [String] {
            [
                "--collector", stage.endpoint, "--source", "camera", "--video", "test", "--audio",
                "none", "--size", "320x180", "--spool", stage.spool,
            ]
        }

        @Test func `SIGTERM ends a starting service with status 0`() async throws {
            try await Stage.with { stage in
                for (program, arguments) in [
                    (Executable.agent, agentArguments(stage)),
                    (.collector, ["--listen", stage.endpoint, "--archive", stage.archive]),
                ] {
                    let outcome = try await start(
                        program, arguments, pending: "SIGTERM", on: stage
                    ).outcome()
                    #expect(outcome.status == 0, "\(program): \(outcome.complaints)")
                }
            }
        }

        @Test func `SIGHUP does not end a starting service`() async throws {
            try await Stage.with { stage in
                let collector = try start(
                    .collector, ["--listen", stage.endpoint, "--archive", stage.archive],
                    pending: "SIGHUP", on: stage)
                try await collector.says("listening on")
                let agent = try start(
                    .agent, agentArguments(stage), pending: "SIGHUP", on: stage)
                try await stage.grows("camera")
                for program in [agent, collector] {
                    program.signal(SIGTERM)
                    try await program.succeeds()
                }
            }
        }
    }
}

import Testing

extension EndToEnd {
    /// A collector whose disk is slow for longer than agents wait for an answer.
    @Suite(.serialized, .enabled(if: StoppableDisk.isPossible, "mounting needs root"))
    struct SlowDiskTests {
        @Test
        func `an agent gets the last acknowledgement when the disk is slow at the end`()
            async throws
        {
            try await Stage.with { stage in
                let disk = try await StoppableDisk(at: stage.archive, on: stage)
                defer { disk.end() }
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("stage", "--duration", "4s")
                _ = try await stage.holds(1, of: "stage")
                try disk.stop()
                try await agent.says("capture ended")
                // An agent takes a collector that is silent for 5 s for lost.
                try await Task.sleep(for: .seconds(8))
                #expect(agent.isRunning && collector.isRunning)
                try disk.goOn()
                let outcome = try await agent.succeeds()
                #expect(!outcome.complaints.contains("lost the collector"))
                try await collector.succeeds()
                #expect(try Numbers(of: "stage", on: stage).missing == [])
            }
        }
    }
}

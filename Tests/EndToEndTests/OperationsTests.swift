import Foundation
import Operations
import TestMetrics
import Testing

extension EndToEnd {
    /// The operational interfaces of a running collector.
    @Suite(.serialized) struct OperationsTests {
        @Test func `metrics, probes and top show a collector's state`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--http", "0")
                let site = try await Watcher(of: collector, on: stage)
                #expect(try await site.get("/healthz").status == 200)
                let agent = try stage.testAgent("camera")
                var first: MetricReading?
                try await site.eventually("a source is recorded, and its clock and spool known") {
                    first = $0
                    return $0.of("camera", "clock_bound_seconds") != nil
                        && $0.of("camera", "spool_bytes") != nil
                        && $0.of("camera", "written_bytes_total") ?? 0 > 0
                        && $0.value("tributary_fdatasync_seconds_count") ?? 0 > 0
                        && $0.of("camera", "pictures_per_second") ?? 0 > 10
                }
                let before = try #require(first)
                #expect(before.value("tributary_session_active") == 1)
                #expect(before.value("tributary_sources_connected") == 1)
                #expect(before.of("camera", "connected") == 1)
                #expect(before.of("camera", "recorded") == 1)
                #expect(before.of("camera", "segments_begun_total") == 1)
                #expect(try #require(before.of("camera", "clock_bound_seconds")) < 0.1)
                #expect(try #require(before.of("camera", "lag_seconds")) < 30)
                #expect(before.all("tributary_source_sound_peak_decibels").count == 2)
                #expect(try #require(before.value("tributary_disk_free_bytes")) > 1_000_000)
                #expect(before.value("tributary_ready") == 1)

                // HTTP and the archive's socket give the same.
                for way in [["--http", "\(site.port)"], ["--archive", stage.archive]] {
                    let shown = try await stage.start(.archive, ["top"] + way).succeeds()
                    #expect(shown.output.contains("\ncamera  "), "\(shown.output)")
                    #expect(shown.output.contains("1 source · "), "\(shown.output)")
                }
                let json = try await stage.start(
                    .archive, ["top", "--json", "--archive", stage.archive]
                ).succeeds()
                let values = try #require(
                    try JSONSerialization.jsonObject(with: json.outputData) as? [String: Any])
                #expect(
                    (values["sources"] as? [[String: Any]])?.first?["name"] as? String == "camera")

                agent.signal(SIGINT)
                try await agent.succeeds()
                try await site.eventually("the source has said goodbye") {
                    $0.of("camera", "connected") == 0 && $0.of("camera", "recorded") == 0
                        && $0.of("camera", "segments_finished_total") == 1
                }
                let after = try await site.metrics()
                // The session has ended with its only source; counters remain.
                #expect(after.value("tributary_session_active") == 0)
                #expect(after.value("tributary_sessions_ended_total") == 1)
                for name in before.names where name.hasSuffix("_total") {
                    for sample in before.all(name) {
                        let now = after.all(name).first { $0.labels == sample.labels }
                        #expect(try #require(now).value >= sample.value, "\(name)")
                    }
                }
                #expect(
                    after.of("camera", "written_bytes_total")
                        == after.of("camera", "received_bytes_total"))
                #expect(after.of("camera", "persisted_age_seconds") == 0)
                // Nothing is left on the box, by all reports.
                #expect(after.of("camera", "spool_bytes") == 0)
                #expect(after.all("tributary_source_sound_peak_decibels").isEmpty)
                let ended = try await stage.start(
                    .archive, ["top", "--archive", stage.archive]
                ).succeeds()
                let line = ended.output.split(separator: "\n").first { $0.hasPrefix("camera ") }
                #expect(line?.contains("gone") == true && line?.contains(" 0 B ") == true)
                let page = String(decoding: try await site.get("/metrics").body, as: UTF8.self)
                #expect(MetricLint.flaws(in: page) == [])

                collector.signal(SIGTERM)
                try await collector.succeeds()
                let gone = try await stage.run(.archive, "top", "--http", "\(site.port)")
                #expect(gone.status == 1)
                #expect(gone.complaintLines.count == 1)
                #expect(gone.complaints.contains("Connection refused"))
            }
        }

        @Test func `a probe is answered beside any number of unfinished requests`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--http", "127.0.0.1:0")
                let site = try await Watcher(of: collector, on: stage)
                let before = try collector.descriptors()
                let endpoint = "tcp://127.0.0.1:\(site.port)"
                var peers: [RawPeer] = []
                for number in 0..<500 {
                    let peer = try RawPeer(to: endpoint)
                    // Some send nothing, some a partial request, some an endless one.
                    if number % 3 > 0 {
                        peer.send(Array("GET /metrics HTTP/1.1\r\nHost: x\r\n".utf8))
                    }
                    peers.append(peer)
                    if number % 50 == 0 { #expect(try await site.get("/healthz").status == 200) }
                }
                #expect(try collector.descriptors() - before <= 140)
                #expect(try await site.get("/healthz").status == 200)
                try await eventually("those that never finish are ended") {
                    for (number, peer) in peers.enumerated() where number % 3 == 2 {
                        peer.send(Array("X: y\r\n".utf8))
                    }
                    return peers.allSatisfy { $0.isEnded() }
                }
                #expect(try await site.get("/healthz").status == 200)
                #expect(try await site.get("/metrics").status == 200)
            }
        }

        @Test func `an address in use ends it with one line`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--http", "127.0.0.1:0")
                let site = try await Watcher(of: collector, on: stage)
                let second = try await stage.run(
                    .collector, "--listen", "ipc://\(stage.directory.path)/other", "--archive",
                    "\(stage.directory.path)/other", "--http", "\(site.port)")
                #expect(second.status == 1)
                #expect(second.complaintLines.count == 1, "\(second.complaints)")
                #expect(second.complaints.contains("Address already in use"))
            }
        }

        @Test func `without the option there is no server, and top uses the archive's socket`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                #expect(try !collector.complaints.contains("http://"))
                let shown = try await stage.run(.archive, "top", "--archive", stage.archive)
                #expect(shown.status == 0, "\(shown.complaints)")
                #expect(shown.output.contains("no agents"))
            }
        }

        /// Recording programs link no server package and build without one.
        @Test(arguments: [Executable.agent, .archive, .collector])
        func `only the viewer has a server package inside`(program: Executable) throws {
            func holds(_ program: Executable) throws -> Bool {
                let search = Process()
                search.executableURL = URL(filePath: "/bin/grep")
                search.arguments = ["-q", "-a", "-F", "NIOPosix", program.url.path]
                try search.run()
                search.waitUntilExit()
                return search.terminationStatus == 0
            }
            #expect(try !holds(program))
            #expect(try holds(.viewer))
        }
    }
}

/// An HTTP client of a collector.
struct Watcher {
    let port: Int
    private let stage: Stage

    init(of collector: Running, on stage: Stage) async throws {
        try await collector.says("metrics are at http://127.0.0.1:")
        let line = try collector.complaints.firstMatch(
            of: /metrics are at http:\/\/127\.0\.0\.1:([0-9]+)/)
        guard let line, let port = Int(line.1) else {
            throw StageFailure(description: "\(collector.name) does not say at which port it is")
        }
        self.port = port
        self.stage = stage
    }

    /// The reply, requested with the shell's `/dev/tcp` and no HTTP library.
    func get(_ path: String) async throws -> (status: Int, body: [UInt8]) {
        let script =
            "exec 3<>/dev/tcp/127.0.0.1/\(port); printf 'GET \(path) HTTP/1.0\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3"
        let outcome = try await stage.start(
            at: URL(filePath: "/bin/bash"), ["-c", script]
        ).succeeds()
        let bytes = Array(outcome.outputData)
        let end = try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8)))
        let words = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: " ")
        return (try #require(Int(words[1])), Array(bytes[end.upperBound...]))
    }

    func metrics() async throws -> MetricReading {
        let reply = try await get("/metrics")
        guard reply.status == 200 else {
            throw StageFailure(description: "/metrics answers \(reply.status)")
        }
        return try MetricReading(reply.body)
    }

    /// Waits until metrics satisfy a condition.
    func eventually(_ what: String, _ isSo: (MetricReading) throws -> Bool) async throws {
        let deadline = ContinuousClock.now + Running.patience
        while !(try isSo(try await metrics())) {
            guard ContinuousClock.now < deadline else {
                throw StageFailure(description: "waited too long until \(what)")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}

extension MetricReading {
    /// A source's value.
    func of(_ source: String, _ name: String) -> Double? {
        all("tributary_source_\(name)").first { $0.labels == ["source": source] }?.value
    }
}

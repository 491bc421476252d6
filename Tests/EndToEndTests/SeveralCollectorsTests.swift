import Archive
import Foundation
import Media
import Testing

extension EndToEnd {
    /// Agents with two collectors, of which one dies, hangs or is drained.
    @Suite(.serialized) struct SeveralCollectorsTests {
        private static let names = ["door", "hall", "stage", "yard"]

        enum Fault: String, CaseIterable {
            case kill, hang, drain
        }

        /// A collector with its own archive.
        private struct Member {
            let name: String
            let endpoint: String
            let archive: String

            var layout: ArchiveLayout { ArchiveLayout(root: archive) }

            init(_ name: String, on stage: Stage) {
                self.name = name
                endpoint = "ipc://\(stage.directory.path)/\(name)"
                archive = stage.directory.appending(path: "archive-\(name)").path
            }

            func start(on stage: Stage) async throws -> Running {
                let collector = try stage.start(
                    .collector,
                    [
                        "--listen", endpoint, "--archive", archive, "--name", name, "--segment",
                        "10s", "--idle-timeout", "0s",
                    ])
                try await collector.says("listening on")
                return collector
            }

            /// Bytes of a source's files.
            func size(of source: String) throws -> Int {
                guard FileManager.default.fileExists(atPath: layout.sessions) else { return 0 }
                var size = 0
                for session in try layout.sessionNames() {
                    guard try layout.sourceNames(session).contains(source) else { continue }
                    for path in try layout.segmentPaths(session, source) {
                        size += Int(try FileSystem.size(path))
                    }
                }
                return size
            }

            func entries(of source: String) throws -> [LedgerEntry] {
                guard FileManager.default.fileExists(atPath: layout.sessions) else { return [] }
                return try layout.sessionNames().flatMap {
                    try Ledger.read(layout.ledger($0, source)).entries
                }
            }

            /// Records in files, and in ledgers other than as held by another collector, by spool.
            func records(of source: String) throws -> [String: SequenceSet] {
                var all: [String: SequenceSet] = [:]
                for session in try layout.sessionNames() {
                    guard try layout.sourceNames(session).contains(source) else { continue }
                    for path in try layout.segmentPaths(session, source) {
                        for (spool, ranges) in FileVerifier.verify(path).sequences {
                            for range in ranges {
                                all[spool.description, default: SequenceSet()].insert(range)
                            }
                        }
                    }
                }
                for entry in try entries(of: source) where entry.kind != .held {
                    for (spool, range) in entry.replacedRecords {
                        all[spool.description, default: SequenceSet()].insert(range)
                    }
                }
                return all
            }
        }

        @Test func `a source is recorded while both collectors are drained`() async throws {
            try await Stage.with { stage in
                let members = ["east", "west"].map { Member($0, on: stage) }
                var collectors: [Running] = []
                for member in members { collectors.append(try await member.start(on: stage)) }
                let agent = try stage.start(
                    .agent,
                    [
                        "--collector", members.map(\.endpoint).joined(separator: ","),
                        "--source", "door", "--video", "test", "--audio", "none", "--size",
                        "320x180", "--keyframe-interval", "1s", "--fps", "10", "--spool",
                        stage.spool, "--linger", "60s",
                    ])
                try await eventually("it is recorded") {
                    try members.contains { try $0.size(of: "door") > 20_000 }
                }
                let first = try members[0].size(of: "door") > 0 ? 0 : 1
                let (here, there) = (members[first], members[1 - first])
                let drained = try await stage.run(.archive, "drain", "--archive", here.archive)
                #expect(drained.status == 0, "\(drained.complaints)")
                // It is there, and has nowhere to go to.
                let again = try await stage.run(
                    .archive, "drain", "--archive", there.archive, "--timeout", "8s")
                #expect(again.status == 1)
                let isHere = "door is recorded here, because no other collector accepts it"
                func isNamed(_ outcome: Outcome) -> Bool { outcome.complaints.contains(isHere) }
                if !isNamed(again) {
                    // It may have come back to the other one.
                    let other = try await stage.run(
                        .archive, "drain", "--archive", here.archive, "--timeout", "0s")
                    #expect(isNamed(other), "\(again.complaints)\(other.complaints)")
                }
                let before = try members.map { try $0.size(of: "door") }.reduce(0, +)
                try await eventually("it is recorded on") {
                    try members.map { try $0.size(of: "door") }.reduce(0, +) > before + 20_000
                }
                for member in members {
                    let shown = try await stage.run(
                        .archive, "top", "--once", "--archive", member.archive)
                    #expect(shown.output.contains("DRAINED: "))
                    let ended = try await stage.run(
                        .archive, "drain", "--cancel", "--archive", member.archive)
                    #expect(ended.status == 0)
                }
                agent.signal(SIGINT)
                try await agent.succeeds()
                for collector in collectors {
                    collector.signal(SIGINT)
                    try await collector.succeeds()
                }
                var together: [String: SequenceSet] = [:]
                for member in members {
                    for (spool, records) in try member.records(of: "door") {
                        together[spool, default: SequenceSet()].formUnion(records)
                    }
                }
                #expect(together.count == 1)
                let isWhole = together.values.allSatisfy(\.holes.isEmpty)
                #expect(isWhole, "\(together)")
            }
        }

        @Test(arguments: Fault.allCases)
        func `when one of two collectors fails, the other has the rest`(
            fault: Fault
        ) async throws {
            try await Stage.with { stage in
                let members = ["east", "west"].map { Member($0, on: stage) }
                var collectors: [Running] = []
                for member in members { collectors.append(try await member.start(on: stage)) }
                let endpoints = members.map(\.endpoint).joined(separator: ",")
                var agents: [String: Running] = [:]
                for name in Self.names {
                    agents[name] = try stage.start(
                        .agent,
                        [
                            "--collector", endpoints, "--source", name, "--video", "test",
                            "--audio", "test", "--size", "320x180", "--keyframe-interval", "1s",
                            "--fps", "10", "--late", "keep", "--spool", stage.spool, "--linger",
                            "60s",
                        ])
                }
                // Where they are is a matter of their names and the directory's.
                for name in Self.names {
                    try await eventually("\(name) is recorded") {
                        try members.contains { try $0.size(of: name) > 100_000 }
                    }
                }
                let first = try members[0].size(of: Self.names[0]) > 0 ? 0 : 1
                let second = 1 - first
                let own = try Self.names.filter { try members[first].size(of: $0) > 0 }
                let began = ContinuousClock.now
                switch fault {
                case .kill: collectors[first].signal(SIGKILL)
                case .hang: collectors[first].signal(SIGSTOP)
                case .drain:
                    let drained = try await stage.run(
                        .archive, "drain", members[first].name, "--archive",
                        members[first].archive)
                    #expect(drained.status == 0, "\(drained.complaints)")
                    #expect(drained.output.contains("is drained"))
                }
                for name in own {
                    try await eventually("\(name) is recorded at \(members[second].name)") {
                        try members[second].size(of: name) > 0
                    }
                }
                print(
                    "\(fault): \(own.count) sources recorded elsewhere \(ContinuousClock.now - began)"
                )
                try await Task.sleep(for: .seconds(3))
                for agent in agents.values { agent.signal(SIGINT) }
                for agent in agents.values { try await agent.succeeds() }
                if fault == .hang { collectors[first].signal(SIGCONT) }
                if fault == .kill { collectors[first] = try await members[first].start(on: stage) }
                for collector in collectors {
                    collector.signal(SIGINT)
                    try await collector.succeeds()
                }
                for name in Self.names {
                    var together: [String: SequenceSet] = [:]
                    for member in members {
                        for (spool, records) in try member.records(of: name) {
                            together[spool, default: SequenceSet()].formUnion(records)
                        }
                    }
                    #expect(together.count == 1, "\(name)")
                    let isWhole = together.values.allSatisfy(\.holes.isEmpty)
                    #expect(isWhole, "\(name): \(together)")
                    let hasFirst = together.values.allSatisfy { $0.missing(in: 1...1).isEmpty }
                    #expect(hasFirst, "\(name)")
                }
                for name in own {
                    let lines = try members[second].entries(of: name)
                    #expect(lines.contains { $0.kind == .opened && $0.term == 2 }, "\(name)")
                    let held = lines.filter { $0.kind == .held }
                    #expect(held.allSatisfy { $0.collector == members[first].name })
                    // Its report is true.
                    let there = try members[first].records(of: name)
                    for line in held {
                        let records = there[line.spool ?? ""] ?? SequenceSet()
                        for range in line.sequences { #expect(records.missing(in: range) == []) }
                    }
                }
                for member in members {
                    for session in try member.layout.sessionNames() {
                        let report = try SessionVerifier.verify(session, in: member.layout)
                        #expect(report.isIntact, "\(report.allFindings)")
                    }
                }
            }
        }
    }
}

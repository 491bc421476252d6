import Foundation
import Media
import Spooling
import Testing
import Wire

@testable import AgentCore

struct `The placement in a spool` {
    private let collectors = ["tcp://a:1", "tcp://b:1"]

    private var note: CollectorNote {
        var note = CollectorNote()
        note.term = 3
        note.endpoint = "tcp://b:1"
        note.name = "west"
        note.held[SpoolID(high: 1, low: 1)] = [
            HeldRange(collector: "east", sequences: 1...40),
            HeldRange(collector: "east", sequences: 51...60),
        ]
        return note
    }

    @Test func `is stated with collector, term, kept bytes and records that others hold`() {
        let finding = PlacementCheck.judge(note, keptBytes: 2_000_000, collectors: collectors)
        #expect(finding?.verdict == .ok)
        #expect(
            finding?.text
                == "last sent to west (tcp://b:1), term 3; 2 MB kept in the spool; 50 records are held by east only"
        )
        var mirrored = note
        mirrored.mirror = "tcp://a:1"
        mirrored.held = [:]
        #expect(
            PlacementCheck.judge(mirrored, keptBytes: 0, collectors: collectors)?.text
                .hasPrefix("last sent to west (tcp://b:1) and tcp://a:1, term 3") == true)
    }

    @Test func `a collector that is not configured any more is named`() {
        let finding = PlacementCheck.judge(note, keptBytes: 0, collectors: ["tcp://a:1"])
        #expect(finding?.verdict == .warning)
        #expect(finding?.text.contains("tcp://b:1 is not in --collector any more") == true)
    }

    @Test func `has no finding with one collector`() {
        var note = CollectorNote()
        note.term = 1
        note.endpoint = "tcp://a:1"
        #expect(PlacementCheck.judge(note, keptBytes: 0, collectors: ["tcp://a:1"]) == nil)
        #expect(
            PlacementCheck.judge(CollectorNote(), keptBytes: 0, collectors: collectors) == nil)
    }

    @Test func `a running agent's spool is read and left as it is`() throws {
        let path = NSTemporaryDirectory() + "tributary-\(UUID().uuidString)"
        var uplink = UplinkSettings(
            endpoint: collectors.joined(separator: ","), sourceName: "camera", agentName: "box",
            software: "agent", batch: .automatic, memoryLimitBytes: 1 << 20)
        uplink.spool = SpoolSettings(path: path, limitBytes: 1 << 20)
        #expect(PlacementCheck.look(at: uplink) == nil)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var spools = try SpoolSet(storage: DirectoryStorage(path: path), limitBytes: 1 << 20)
        let generation = spools.begin(
            identity: [UInt8](repeating: 1, count: 16), origin: [UInt8](repeating: 2, count: 16))
        // A closure with a typed error in a rethrowing function crashes the compiler.
        let failure = [UInt8](repeating: 7, count: 1_000).withUnsafeBytes { body -> SpoolError? in
            do throws(SpoolError) {
                try spools.append(
                    SpoolSet.NewRecord(firstNumber: 1, count: 1, kind: 1, beginsGroup: true),
                    body: [body], to: generation, staysShort: true, now: 0
                ) { [] }
                return nil
            } catch {
                return error
            }
        }
        #expect(failure == nil)
        try spools.writeNote(note.encoded())
        let before = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        let finding = try #require(PlacementCheck.look(at: uplink))
        #expect(finding.text.hasPrefix("last sent to west (tcp://b:1), term 3; 1.1 kB kept"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == before)
        try spools.writeNote(Array("nonsense".utf8))
        #expect(PlacementCheck.look(at: uplink)?.verdict == .warning)
    }
}

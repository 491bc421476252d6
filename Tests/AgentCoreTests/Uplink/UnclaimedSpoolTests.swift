import Foundation
import Logging
import Media
import Spooling
import Testing

@testable import AgentCore

struct `A spool of a source that is not configured` {
    private let directory = FileManager.default.temporaryDirectory
        .appending(path: "tributary-unclaimed-\(UUID().uuidString)").path

    /// Leaves records of a source without a collector.
    private func leave(_ source: String) throws {
        var capture = CaptureSettings(sourceName: source)
        capture.audio = .none
        capture.duration = .milliseconds(200)
        var uplink = UplinkSettings(
            endpoint: "ipc:///tmp/tributary-no-such-collector", sourceName: source,
            agentName: "box", software: "test", batch: .automatic, memoryLimitBytes: 16 << 20)
        uplink.linger = .zero
        uplink.spool = SpoolSettings(path: "\(directory)/\(source)", limitBytes: 100_000_000)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        _ = try Agent(capture: capture, uplink: uplink, logger: logger).run()
    }

    @Test func `is found, unless an agent has it or it is empty`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(UnclaimedSpool.all(in: directory, except: []) == [])
        try leave("door")
        try leave("yard")
        try DirectoryStorage(path: "\(directory)/empty").close()
        try Data("text".utf8).write(to: URL(filePath: "\(directory)/notes"))
        let found = UnclaimedSpool.all(in: directory, except: ["yard"])
        #expect(found.map(\.source) == ["door"])
        #expect(found.allSatisfy { $0.sizeBytes > 1_000 })
        let size = byteText(found.first?.sizeBytes ?? 0)
        #expect(
            found.first?.line
                == "\(directory)/door has \(size) of the source door, which is not configured: "
                + "'tributary-agent --source door …' sends them")
        let storage = try DirectoryStorage(path: "\(directory)/door")
        #expect(UnclaimedSpool.all(in: directory, except: ["yard"]) == [])
        storage.close()
        #expect(UnclaimedSpool.all(in: directory, except: ["yard"]).count == 1)
    }

    @Test func `a directory that cannot be made is reported as that`() {
        let finding = SpoolCheck.look(
            at: SpoolSettings(path: "/proc/x/camera", limitBytes: 1_000_000),
            memoryLimitBytes: 1_000_000)
        #expect(finding.verdict == .problem)
        #expect(finding.text.contains("choose another --spool"))
        #expect(!finding.text.contains("free"))
    }
}

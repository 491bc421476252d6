import Foundation
import Testing

@testable import Wire

/// The root of this repository.
private let root = URL(fileURLWithPath: #filePath)
    .resolvingSymlinksInPath().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
}

struct `The protocol's text` {
    @Test func `has every limit, with its value`() throws {
        // name → value, from the table's rows: | `name` | value | scope |
        let specification = try text("proto/README.md")
        let section = try #require(specification.range(of: "## Limits"))
        let rows = specification[section.upperBound...].split(separator: "\n")
            .compactMap { line -> (String, String)? in
                let cells = line.split(separator: "|").map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
                guard cells.count == 3, cells[0].hasPrefix("`"), cells[0].hasSuffix("`") else {
                    return nil
                }
                return (cells[0].trimmingCharacters(in: ["`"]), cells[1])
            }
        let table = Dictionary(rows, uniquingKeysWith: { first, _ in first })
        #expect(table == Self.limits)
    }

    @Test func `has every constant of the code`() throws {
        let declared = try text("Sources/Wire/WireLimits.swift").matches(
            of: /package static let (\w+)/
        ).map { String($0.output.1) }
        // The fields that identify a Hello are described with it.
        let versions: Set = [
            "magic", "major", "minor", "commandMinor", "watchMinor", "releaseMinor", "termMinor",
            "mirrorMinor",
        ]
        #expect(Set(declared) == versions.union(Self.limits.keys))
    }

    @Test func `names every message and every reason for a refusal`() throws {
        let specification = try text("proto/README.md")
        let definition = try text("proto/tributary/v1/tributary.proto")
        let envelope = definition.prefix(
            upTo: try #require(definition.range(of: "// ---- Greeting")).lowerBound)
        let messages = envelope.matches(of: /\n    (\w+) \w+ = \d+;/).map { $0.output.1 }
        #expect(messages.count == 16)
        for message in messages {
            #expect(specification.contains("`\(message)`"), "\(message)")
        }
        for name in try text("proto/tributary/v1/command.proto").matches(
            of: /(FAILURE_[A-Z_]+) = [2-7];/)
        where [
            "FAILURE_UNKNOWN_COMMAND", "FAILURE_REFUSED", "FAILURE_BUSY", "FAILURE_NOT_RESTORED",
        ]
        .contains(name.output.1) {
            #expect(specification.contains("`\(name.output.1)`"), "\(name.output.1)")
        }
        for reason in definition.matches(of: /REASON_(\w+) = [1-9][0-9]*/) {
            #expect(specification.contains("`REASON_\(reason.output.1)`"), "\(reason.output.1)")
        }
    }

    private static let limits: [String: String] = [
        "heldRanges": "\(WireLimits.heldRanges)",
        "owedCollectors": "\(WireLimits.owedCollectors)",
        "segmentNanoseconds": "\(WireLimits.segmentNanoseconds)",
        "headerBytes": "\(WireLimits.headerBytes)",
        "payloadBytes": "\(WireLimits.payloadBytes)",
        "parts": "\(WireLimits.parts)",
        "recordsPerMessage": "\(WireLimits.recordsPerMessage)",
        "messageBytes": "\(WireLimits.messageBytes)",
        "samplesPerBatch": "\(WireLimits.samplesPerBatch)",
        "runsPerBatch": "\(WireLimits.runsPerBatch)",
        "sourcesPerAgent": "\(WireLimits.sourcesPerAgent)",
        "tracksPerSource": "\(WireLimits.tracksPerSource)",
        "epochsPerAgent": "\(WireLimits.epochsPerAgent)",
        "exchangesPerMessage": "\(WireLimits.exchangesPerMessage)",
        "sequenceParameterSets": "\(WireLimits.sequenceParameterSets)",
        "pictureParameterSets": "\(WireLimits.pictureParameterSets)",
        "parameterSets": "\(WireLimits.parameterSets)",
        "parameterSetBytes": "\(WireLimits.parameterSetBytes)",
        "audioConfigurationBytes": "\(WireLimits.audioConfigurationBytes)",
        "pictureSide": "\(WireLimits.pictureSide)",
        "sampleRate": "\(WireLimits.sampleRate)",
        "channels": "\(WireLimits.channels)",
        "nameBytes": "\(WireLimits.nameBytes)",
        "labelBytes": "\(WireLimits.labelBytes)",
        "textBytes": "\(WireLimits.textBytes)",
        "argumentBytes": "\(WireLimits.argumentBytes)",
        "snapshotBytes": "\(WireLimits.snapshotBytes)",
        "controlsPerMessage": "\(WireLimits.controlsPerMessage)",
        "choicesPerControl": "\(WireLimits.choicesPerControl)",
        "descriptionsPerStatus": "\(WireLimits.descriptionsPerStatus)",
        "bitsPerSecond": "\(WireLimits.bitsPerSecond)",
        "openCommands": "\(WireLimits.openCommands)",
        "commandMilliseconds": "\(WireLimits.commandMilliseconds)",
        "digestBytes": "\(WireLimits.digestBytes)",
        "identityBytes": "\(WireLimits.identityBytes)",
        "publicKeyBytes": "\(WireLimits.publicKeyBytes)",
        "patternsPerKey": "\(WireLimits.patternsPerKey)",
        "timeNanoseconds": "\(WireLimits.timeNanoseconds)",
        "intervalNanoseconds": "\(WireLimits.intervalNanoseconds)",
        "gapNanoseconds": "\(WireLimits.gapNanoseconds)",
        "gapSamples": "\(WireLimits.gapSamples)",
        "reportedCount": "\(WireLimits.reportedCount)",
        "levelMillibels": "\(WireLimits.levelMillibels)",
        "sequence": "\(WireLimits.sequence)",
        "recordCostBytes": "\(WireLimits.recordCostBytes)",
        "creditWindowBytes": "\(WireLimits.creditWindowBytes)",
        "commonCreditWindowBytes": "\(WireLimits.commonCreditWindowBytes)",
        "smallestCreditWindowBytes": "\(WireLimits.smallestCreditWindowBytes)",
        "heartbeatMilliseconds": "\(WireLimits.heartbeatMilliseconds)",
        "heartbeatMillisecondsRange": "\(WireLimits.heartbeatMillisecondsRange)",
        "silentHeartbeats": "\(WireLimits.silentHeartbeats)",
        "watchMillisecondsRange": "\(WireLimits.watchMillisecondsRange)",
        "gatherMilliseconds": "\(WireLimits.gatherMilliseconds)",
        "sendInstants": "\(WireLimits.sendInstants)",
        "claimMilliseconds": "\(WireLimits.claimMilliseconds)",
        "controlMessagesPerSecond": "\(WireLimits.controlMessagesPerSecond)",
        "controlMessageBurst": "\(WireLimits.controlMessageBurst)",
        "clockProbesPerSecond": "\(WireLimits.clockProbesPerSecond)",
        "clockProbeBurst": "\(WireLimits.clockProbeBurst)",
    ]
}

struct `The generated code` {
    /// The plugin, if it has been built: named by the environment, or left by proto/generate.
    private static let plugin: String? = {
        let built = root.appendingPathComponent(".build/protoc-gen-swift/debug/protoc-gen-swift")
        let candidates: [String?] = [
            ProcessInfo.processInfo.environment["TRIBUTARY_PROTOC_GEN_SWIFT"], built.path,
        ]
        return candidates.compactMap { $0 }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }()

    private static let hasProtoc = (ProcessInfo.processInfo.environment["PATH"] ?? "")
        .split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/protoc") }

    @Test(
        .enabled("protoc is not on the PATH") { hasProtoc },
        .enabled("protoc-gen-swift has not been built; proto/generate builds it") {
            plugin != nil
        })
    func `equals the output of the generator`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("tributary-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let process = Process()
        process.executableURL = root.appendingPathComponent("proto/generate")
        process.arguments = [directory.path]
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["TRIBUTARY_PROTOC_GEN_SWIFT": Self.plugin ?? ""]) { $1 }
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let generated = root.appendingPathComponent("Sources/Wire/Generated")
        let names = try FileManager.default.contentsOfDirectory(atPath: generated.path).sorted()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == names)
        for name in names {
            let made = try String(
                contentsOf: directory.appendingPathComponent(name), encoding: .utf8)
            // Printing the values would give a thousand lines.
            let isSame = try made == text("Sources/Wire/Generated/\(name)")
            #expect(isSame, "\(name) is another: run proto/generate and commit the result")
        }
    }
}

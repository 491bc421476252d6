import Media

/// The readers of untrusted bytes, by name: each accepts any input and traps if an invariant is violated.
package enum FuzzTargets {
    package static let all: [String: @Sendable ([UInt8]) -> Void] = [
        "wire": { WireTarget.run($0) },
        "collector": { CollectorTarget.run($0) },
        "agent": { AgentTarget.run($0) },
        "mp4": { MP4Target.run($0) },
        "ledger": { LedgerTarget.run($0) },
        "archive": { ArchiveTarget.run($0) },
        "paths": { PathsTarget.run($0) },
        "spool": { SpoolTarget.run($0) },
        "answers": { AnswersTarget.run($0) },
        "sets": { ParameterSetTarget.run($0, .h264) },
        "sets-h265": { ParameterSetTarget.run($0, .h265) },
        "pictures": { AccessUnitTarget.run($0, .h264) },
        "pictures-h265": { AccessUnitTarget.run($0, .h265) },
        "keys": { KeysTarget.run($0) },
        "containers": { ContainerTarget.run($0) },
        "camera": { CameraTarget.run($0) },
        "payloads": { PayloadTarget.run($0) },
        "descriptions": { DescriptionTarget.run($0) },
        "devices": { DeviceTarget.run($0) },
        "rtsp-client": { RTSPClientTarget.run($0) },
        "served-samples": { ServedSampleTarget.run($0) },
    ]

    /// Writes the valid seeds below a directory.
    package static func writeSeeds(below directory: String) { Seeds.write(below: directory) }
}

import FoundationEssentials
import Media
import SwiftProtobuf

/// The first fields of a message.
private enum FeedProtocol {
    /// "TRIF".
    static let magic: UInt32 = 0x5452_4946
    static let major: UInt32 = 1
    /// A status of 1,000 sources.
    static let maximumBytes = 4 << 20
    /// Sums of times stay far below an overflow: thirty years of 768 kHz.
    static let maximumTicks: Int64 = 1 << 53
}

extension FeedMessage {
    package func encoded() -> [UInt8] {
        var message = Tributary_V1_FeedMessage()
        message.magic = FeedProtocol.magic
        message.major = FeedProtocol.major
        switch self {
        case .samples(let samples): message.samples = samples.encoded()
        case .status(let json): message.status = .with { $0.json = Data(json) }
        case .event(let json): message.event = .with { $0.json = Data(json) }
        case .unknown: break
        }
        do {
            return try message.serializedBytes()
        } catch {
            preconditionFailure("a message without required fields always encodes: \(error)")
        }
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= FeedProtocol.maximumBytes else {
            throw .limit("a feed's header of \(bytes.count) bytes")
        }
        let message: Tributary_V1_FeedMessage
        do {
            message = try Tributary_V1_FeedMessage(serializedBytes: bytes)
        } catch {
            throw .malformed("not a message of a feed")
        }
        guard message.magic == FeedProtocol.magic, message.major == FeedProtocol.major else {
            throw .malformed("not a message of a feed, or of another version")
        }
        switch message.message {
        case .samples(let samples): self = .samples(try FeedSamples(decoding: samples))
        case .status(let status): self = .status(Array(status.json))
        case .event(let event): self = .event(Array(event.json))
        case nil: self = .unknown
        }
    }
}

extension FeedSamples {
    fileprivate func encoded() -> Tributary_V1_FeedSamples {
        var message = Tributary_V1_FeedSamples()
        message.session = session
        message.zeroUtc = zeroUTCNanoseconds
        message.source = source
        message.number = number
        message.tracks = formats.map { $0.encoded() }
        message.bound = boundNanoseconds
        message.arrived = arrivedNanoseconds
        message.runs = runs.map { $0.encoded() }
        return message
    }

    fileprivate init(decoding message: Tributary_V1_FeedSamples) throws(WireError) {
        guard SourceName.isValid(message.session), SourceName.isValid(message.source) else {
            throw .malformed("FeedSamples has names that are none")
        }
        try FieldChecks.count(
            message.tracks.count, "FeedSamples.tracks", 1...TrackKind.allCases.count)
        try FieldChecks.count(message.runs.count, "FeedSamples.runs", 1...WireLimits.runsPerBatch)
        var formats: [TrackFormat] = []
        for track in message.tracks {
            let format = try TrackFormat(decoding: track)
            guard !formats.contains(where: { $0.kind == format.kind }) else {
                throw .malformed("FeedSamples has two tracks of one kind")
            }
            formats.append(format)
        }
        var runs: [Run] = []
        var sizeBytes = 0
        for run in message.runs {
            let run = try Run(decoding: run)
            guard formats.contains(where: { $0.kind == run.track }),
                !runs.contains(where: { $0.track == run.track })
            else { throw .malformed("FeedSamples has a run without its own track") }
            sizeBytes += run.samples.reduce(0) { $0 + Int($1.sizeBytes) }
            runs.append(run)
        }
        guard sizeBytes <= WireLimits.payloadBytes else {
            throw .limit("FeedSamples of \(sizeBytes) bytes")
        }
        self.init(
            session: message.session, zeroUTCNanoseconds: message.zeroUtc, source: message.source,
            number: message.number, formats: formats, boundNanoseconds: message.bound,
            arrivedNanoseconds: message.arrived, runs: runs)
    }
}

extension FeedSamples.Run {
    fileprivate func encoded() -> Tributary_V1_FeedRun {
        var message = Tributary_V1_FeedRun()
        message.track = track.encoded
        message.firstSequence = firstSequence
        message.firstDts = samples.first?.dts ?? 0
        message.sizes = samples.map(\.sizeBytes)
        message.dtsSteps = zip(samples, samples.dropFirst()).map { $1.dts &- $0.dts }
        message.ptsOffsets = samples.map { $0.pts &- $0.dts }
        message.durations = samples.map { UInt64(clamping: $0.duration) }
        message.flags = samples.map { UInt32($0.flags.rawValue) }
        return message
    }

    fileprivate init(decoding message: Tributary_V1_FeedRun) throws(WireError) {
        let count = message.sizes.count
        try FieldChecks.count(count, "FeedRun.sizes", 1...WireLimits.samplesPerBatch)
        guard message.dtsSteps.count == count - 1, message.ptsOffsets.count == count,
            message.durations.count == count, message.flags.count == count
        else { throw .malformed("FeedRun's fields have different lengths") }
        var samples: [FeedSamples.Sample] = []
        var dts = message.firstDts
        for index in 0..<count {
            if index > 0 { dts = dts.clampedAdding(message.dtsSteps[index - 1]) }
            let pts = dts.clampedAdding(message.ptsOffsets[index])
            let duration = Int64(clamping: message.durations[index])
            let limit = FeedProtocol.maximumTicks
            guard (-limit...limit).contains(dts), (-limit...limit).contains(pts), duration <= limit,
                message.sizes[index] > 0
            else { throw .limit("FeedRun has times or sizes that no sample has") }
            samples.append(
                FeedSamples.Sample(
                    sizeBytes: message.sizes[index], dts: dts, pts: pts, duration: duration,
                    flags: SampleFlags(rawValue: UInt8(truncatingIfNeeded: message.flags[index]))))
        }
        self.init(
            track: try TrackKind(decoding: message.track, "FeedRun.track"),
            firstSequence: message.firstSequence, samples: samples)
    }
}

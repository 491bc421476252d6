import FoundationEssentials
import Media
import SwiftProtobuf

extension Samples {
    func encoded() -> Tributary_V1_Samples {
        var message = Tributary_V1_Samples()
        message.source = UInt32(source)
        message.firstSequence = firstSequence
        message.epoch = epoch
        message.payloadSha256 = Data(payloadDigest)
        message.runs = runs.map { $0.encoded() }
        return message
    }

    init(decoding message: Tributary_V1_Samples) throws(WireError) {
        try self.init(
            SamplesFields(
                source: message.source, firstSequence: message.firstSequence,
                epoch: message.epoch, payloadSHA256: Array(message.payloadSha256),
                runs: message.runs))
    }

    /// Validates decoded fields.
    init(_ fields: SamplesFields) throws(WireError) {
        source = try FieldChecks.sourceIndex(fields.source, "Samples.source")
        firstSequence = try FieldChecks.sequence(
            fields.firstSequence, "Samples.first_sequence")
        epoch = fields.epoch
        guard fields.payloadSHA256.count == WireLimits.digestBytes else {
            throw .malformed(
                "Samples.payload_sha256 has \(fields.payloadSHA256.count) bytes; "
                    + "\(WireLimits.digestBytes) needed")
        }
        payloadDigest = fields.payloadSHA256
        try FieldChecks.count(fields.runs.count, "Samples.runs", 1...WireLimits.runsPerBatch)
        let count = fields.runs.reduce(0) { $0 + $1.sizes.count }
        guard count <= WireLimits.samplesPerBatch else {
            throw .limit(
                "a batch of \(count) samples; \(WireLimits.samplesPerBatch) are allowed")
        }
        _ = try FieldChecks.sequence(
            firstSequence + UInt64(max(1, count)) - 1, "the number of the last sample")
        runs = []
        var sizeBytes = 0
        runs.reserveCapacity(fields.runs.count)
        for message in fields.runs {
            let run = try SampleRun(decoding: message)
            guard !runs.contains(where: { $0.track == run.track }) else {
                throw .malformed("Samples has two runs of \(run.track)")
            }
            sizeBytes += run.sizeBytes
            runs.append(run)
        }
        guard sizeBytes <= WireLimits.payloadBytes else {
            throw .limit(
                "a payload of \(sizeBytes) bytes; \(WireLimits.payloadBytes) are allowed")
        }
    }
}

extension SampleRun {
    func encoded() -> Tributary_V1_Run {
        var message = Tributary_V1_Run()
        message.track = track.encoded
        message.firstDts = dtsNanoseconds.first ?? 0
        message.sizes = sizes
        message.dtsSteps = zip(dtsNanoseconds.dropFirst(), dtsNanoseconds).map { $0 - $1 }
        message.ptsOffsets = ptsOffsetsNanoseconds.map { UInt64($0) }
        message.durations = durationsNanoseconds.map { UInt64($0) }
        message.flags = flags.map { UInt32($0.rawValue) }
        if let camera {
            message.camera = camera.encoded(firstDTSNanoseconds: dtsNanoseconds.first ?? 0)
        }
        return message
    }

    init(decoding message: Tributary_V1_Run) throws(WireError) {
        track = try TrackKind(decoding: message.track, "Run.track")
        sizes = message.sizes
        let count = sizes.count
        try FieldChecks.count(count, "Run.sizes", 1...WireLimits.samplesPerBatch)
        guard !sizes.contains(0) else {
            throw .malformed("Run.sizes has a sample without bytes")
        }
        dtsNanoseconds = try Self.decodingTimes(
            first: message.firstDts, steps: message.dtsSteps, count: count)
        try Self.checkColumn(message.ptsOffsets.count, "Run.pts_offsets", [0, count])
        ptsOffsetsNanoseconds = []
        ptsOffsetsNanoseconds.reserveCapacity(message.ptsOffsets.count)
        for offset in message.ptsOffsets {
            ptsOffsetsNanoseconds.append(try FieldChecks.interval(offset, "Run.pts_offsets"))
        }
        try Self.checkColumn(message.durations.count, "Run.durations", [1, count])
        durationsNanoseconds = []
        durationsNanoseconds.reserveCapacity(message.durations.count)
        for duration in message.durations {
            durationsNanoseconds.append(try FieldChecks.interval(duration, "Run.durations"))
        }
        try Self.checkColumn(message.flags.count, "Run.flags", [1, count])
        // Bits of later versions are ignored.
        flags = message.flags.map { SampleFlags(rawValue: UInt8(truncatingIfNeeded: $0)) }
        camera =
            message.hasCamera
            ? try CameraStamps(
                decoding: message.camera, count: count, firstDTSNanoseconds: message.firstDts)
            : nil
        if track == .video, count > 1, (1..<count).contains(where: { isKeyframe(at: $0) }) {
            throw .malformed("a run of video has a keyframe after its first sample")
        }
    }

    private func isKeyframe(at index: Int) -> Bool { flags(at: index).contains(.keyframe) }

    private static func decodingTimes(
        first: Int64, steps: [Int64], count: Int
    ) throws(WireError) -> [Int64] {
        try checkColumn(steps.count, "Run.dts_steps", [count - 1])
        var time = try FieldChecks.time(first, "Run.first_dts")
        var times: [Int64] = []
        times.reserveCapacity(count)
        times.append(time)
        for step in steps {
            let (next, overflow) = time.addingReportingOverflow(step)
            guard !overflow else { throw .malformed("Run.dts_steps exceeds the range of a clock") }
            time = try FieldChecks.time(next, "a decoding time")
            times.append(time)
        }
        return times
    }

    private static func checkColumn(
        _ count: Int, _ field: String, _ allowed: [Int]
    ) throws(WireError) {
        guard allowed.contains(count) else {
            let choice = allowed.map(String.init).joined(separator: " or ")
            throw .malformed("\(field) has \(count) entries; \(choice) needed")
        }
    }
}

import Media
import SwiftProtobuf

extension GapRecord {
    func encoded() -> Tributary_V1_Gap {
        var message = Tributary_V1_Gap()
        message.source = UInt32(source)
        message.firstSequence = sequences.lowerBound
        message.lastSequence = sequences.upperBound
        message.track = track?.encoded ?? .unspecified
        message.cause = Tributary_V1_Gap.Cause(rawValue: cause.rawValue) ?? .unspecified
        message.epoch = epoch
        message.start = startNanoseconds
        message.duration = UInt64(durationNanoseconds)
        message.samples = samples
        message.text = text
        return message
    }

    init(decoding message: Tributary_V1_Gap) throws(WireError) {
        source = try FieldChecks.sourceIndex(message.source, "Gap.source")
        let first = try FieldChecks.sequence(message.firstSequence, "Gap.first_sequence")
        let last = try FieldChecks.sequence(message.lastSequence, "Gap.last_sequence")
        guard first <= last else {
            throw .malformed("Gap goes from \(first) back to \(last)")
        }
        sequences = first...last
        track =
            message.track == .unspecified
            ? nil : try TrackKind(decoding: message.track, "Gap.track")
        cause = GapCause(rawValue: message.cause.rawValue) ?? .unspecified
        epoch = message.epoch
        startNanoseconds = try FieldChecks.time(message.start, "Gap.start")
        durationNanoseconds = try FieldChecks.interval(
            message.duration, "Gap.duration", limit: WireLimits.gapNanoseconds)
        samples = try FieldChecks.count(
            message.samples, "Gap.samples", limit: WireLimits.gapSamples)
        text = try FieldChecks.text(message.text, "Gap.text")
    }
}

extension TrackUpdate {
    func encoded() -> Tributary_V1_TrackUpdate {
        var message = Tributary_V1_TrackUpdate()
        message.source = UInt32(source)
        message.sequence = sequence
        message.track = format.encoded()
        return message
    }

    init(decoding message: Tributary_V1_TrackUpdate) throws(WireError) {
        source = try FieldChecks.sourceIndex(message.source, "TrackUpdate.source")
        sequence = try FieldChecks.sequence(message.sequence, "TrackUpdate.sequence")
        format = try TrackFormat(decoding: message.track)
    }
}

extension Goodbye {
    func encoded() -> Tributary_V1_Goodbye {
        var message = Tributary_V1_Goodbye()
        message.source = UInt32(source)
        message.sequence = sequence
        message.text = text
        return message
    }

    init(decoding message: Tributary_V1_Goodbye) throws(WireError) {
        source = try FieldChecks.sourceIndex(message.source, "Goodbye.source")
        sequence = try FieldChecks.sequence(message.sequence, "Goodbye.sequence")
        text = try FieldChecks.text(message.text, "Goodbye.text")
    }
}

extension Heartbeat {
    func encoded() -> Tributary_V1_Heartbeat {
        var message = Tributary_V1_Heartbeat()
        message.clockExchanges = clockExchanges.map { $0.encoded() }
        message.health = health.map { health in
            var encoded = Tributary_V1_SourceHealth()
            encoded.source = UInt32(health.source)
            encoded.keptBytes = health.keptBytes
            encoded.newestSequence = health.newestSequence
            encoded.lostSamples = health.lostSamples
            encoded.stopped = health.isStopped
            if let sound = health.sound { encoded.sound = sound.encoded() }
            encoded.owed = health.owed.map { $0.encoded() }
            encoded.moved = health.moved
            encoded.trouble = printable(health.trouble)
            return encoded
        }
        return message
    }

    init(decoding message: Tributary_V1_Heartbeat) throws(WireError) {
        clockExchanges = try ReportedExchange.decode(
            message.clockExchanges, "Heartbeat.clock_exchanges")
        try FieldChecks.count(
            message.health.count, "Heartbeat.health", 0...WireLimits.sourcesPerAgent)
        health = []
        for entry in message.health {
            var own = SourceHealth(
                source: try FieldChecks.sourceIndex(entry.source, "SourceHealth.source"),
                keptBytes: try FieldChecks.count(entry.keptBytes, "SourceHealth.kept_bytes"),
                newestSequence: try FieldChecks.watermark(
                    entry.newestSequence, "SourceHealth.newest_sequence"),
                lostSamples: try FieldChecks.count(
                    entry.lostSamples, "SourceHealth.lost_samples"),
                sound: entry.hasSound ? try AudioHealth(decoding: entry.sound) : nil,
                isStopped: entry.stopped)
            own.owed = try OwedRecords.decode(entry.owed)
            own.moved = try FieldChecks.text(entry.moved, "SourceHealth.moved")
            own.trouble = try FieldChecks.text(entry.trouble, "SourceHealth.trouble")
            health.append(own)
        }
    }
}

extension OwedRecords {
    func encoded() -> Tributary_V1_OwedRecords {
        var message = Tributary_V1_OwedRecords()
        message.collector = collector
        message.records = records
        message.bytes = bytes
        return message
    }

    static func decode(
        _ messages: [Tributary_V1_OwedRecords]
    ) throws(WireError) -> [OwedRecords] {
        try FieldChecks.count(messages.count, "SourceHealth.owed", 0...WireLimits.owedCollectors)
        var owed: [OwedRecords] = []
        for message in messages {
            owed.append(
                OwedRecords(
                    collector: try FieldChecks.text(
                        message.collector, "OwedRecords.collector", limit: WireLimits.labelBytes),
                    records: try FieldChecks.count(message.records, "OwedRecords.records"),
                    bytes: try FieldChecks.count(message.bytes, "OwedRecords.bytes")))
        }
        return owed
    }
}

extension AudioHealth {
    func encoded() -> Tributary_V1_SoundHealth {
        var message = Tributary_V1_SoundHealth()
        message.levels = levels.map { level in
            var encoded = Tributary_V1_SoundLevel()
            encoded.peakMillibels = level.peakMillibels
            encoded.rmsMillibels = level.rmsMillibels
            return encoded
        }
        if let skewPPB { message.skewPpb = skewPPB }
        return message
    }

    init(decoding message: Tributary_V1_SoundHealth) throws(WireError) {
        try FieldChecks.count(
            message.levels.count, "SoundHealth.levels", 0...Int(WireLimits.channels))
        levels = []
        for level in message.levels {
            levels.append(
                Level(
                    peakMillibels: try FieldChecks.level(
                        level.peakMillibels, "SoundLevel.peak_millibels"),
                    rmsMillibels: try FieldChecks.level(
                        level.rmsMillibels, "SoundLevel.rms_millibels")))
        }
        skewPPB = message.hasSkewPpb ? message.skewPpb : nil
    }
}

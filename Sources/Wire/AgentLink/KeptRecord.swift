package import Media

/// A numbered record in its final encoding, which may be sent repeatedly.
package struct KeptRecord<Payload: Sendable>: Sendable {
    enum Content: Sendable {
        case samples(Samples, Payload)
        case gap(GapRecord)
        case format(TrackFormat)
        case goodbye
    }

    package let sequences: ClosedRange<UInt64>
    let content: Content
    /// The message's header part.
    package let header: [UInt8]
    let payloadBytes: Int

    init(sequences: ClosedRange<UInt64>, content: Content, header: [UInt8], payloadBytes: Int = 0) {
        self.sequences = sequences
        self.content = content
        self.header = header
        self.payloadBytes = payloadBytes
    }

    /// Restores a record from its stored header and payload.
    /// - Throws: when the header is not that of a record, or does not match the payload.
    package init(header: [UInt8], payload: Payload, payloadBytes: Int) throws(WireError) {
        switch try WireMessage(decoding: header) {
        case .samples(let samples):
            guard samples.payloadSizeBytes == payloadBytes else {
                throw .malformed(
                    "a payload of \(payloadBytes) bytes for "
                        + "\(samples.payloadSizeBytes) bytes of samples")
            }
            self.init(
                sequences: samples.firstSequence...samples.lastSequence,
                content: .samples(samples, payload), header: header, payloadBytes: payloadBytes)
        case .gap(let gap):
            self.init(sequences: gap.sequences, content: .gap(gap), header: header)
        case .trackUpdate(let update):
            self.init(
                sequences: update.sequence...update.sequence, content: .format(update.format),
                header: header)
        case .goodbye(let goodbye):
            self.init(
                sequences: goodbye.sequence...goodbye.sequence, content: .goodbye, header: header)
        case .hello, .clockProbe, .heartbeat, .welcome, .acknowledgement, .refusal, .clockReply,
            .ping, .command, .report, .enrol, .enrolled, .unknown:
            throw .malformed("a message that is not a record")
        }
    }

    /// Numbers samples, and encodes their message.
    /// - Parameters:
    ///   - runs: at most one per track.
    ///   - digest: SHA-256 of the payload.
    package init(
        _ runs: [SampleRun], digest: [UInt8], payload: Payload, at number: RecordNumber
    ) {
        let samples = Samples(
            source: number.source, firstSequence: number.sequence, epoch: number.epoch,
            payloadDigest: digest, runs: runs)
        self.init(
            sequences: samples.firstSequence...samples.lastSequence,
            content: .samples(samples, payload), header: WireMessage.samples(samples).encoded(),
            payloadBytes: samples.payloadSizeBytes)
    }

    /// A record of a loss of data that never became a sample.
    package init(_ loss: Loss, at number: RecordNumber) {
        self.init(
            GapRecord(
                source: number.source, sequences: number.sequence...number.sequence,
                track: loss.track, cause: loss.cause, epoch: number.epoch,
                startNanoseconds: loss.startNanoseconds,
                durationNanoseconds: loss.durationNanoseconds, samples: loss.samples,
                text: printable(loss.text)))
    }

    /// A record of a change of format.
    package init(_ format: TrackFormat, at number: RecordNumber) {
        self.init(
            TrackUpdate(source: number.source, sequence: number.sequence, format: format))
    }

    /// The last record of a source.
    package init(goodbye text: String, at number: RecordNumber) {
        let goodbye = Goodbye(
            source: number.source, sequence: number.sequence, text: printable(text))
        self.init(
            sequences: number.sequence...number.sequence, content: .goodbye,
            header: WireMessage.goodbye(goodbye).encoded())
    }

    /// A gap as a record.
    package init(_ gap: GapRecord) {
        self.init(
            sequences: gap.sequences, content: .gap(gap), header: WireMessage.gap(gap).encoded())
    }

    /// A change of format as a record.
    package init(_ update: TrackUpdate) {
        self.init(
            sequences: update.sequence...update.sequence, content: .format(update.format),
            header: WireMessage.trackUpdate(update).encoded())
    }

    /// The kind of the record.
    package var kind: KeptRecordKind {
        switch content {
        case .samples: .samples
        case .gap: .gap
        case .format: .format
        case .goodbye: .goodbye
        }
    }
    /// Samples, if it carries any.
    package var samples: Samples? {
        if case .samples(let samples, _) = content { samples } else { nil }
    }
    /// The loss, if it is one.
    package var gap: GapRecord? {
        if case .gap(let gap) = content { gap } else { nil }
    }
    /// The format in force from here on, if it is a change of format.
    package var format: TrackFormat? {
        if case .format(let format) = content { format } else { nil }
    }
    /// Whether it is the last of its source.
    package var isGoodbye: Bool {
        if case .goodbye = content { true } else { false }
    }
    /// The samples' bytes.
    package var payload: Payload? {
        if case .samples(_, let payload) = content { payload } else { nil }
    }

    /// Credit that it uses.
    var creditBytes: UInt64 { UInt64(payloadBytes) + WireLimits.recordCostBytes }
    /// Memory that it uses: its bytes, and an approximate overhead.
    package var memoryBytes: Int { payloadBytes + header.count + 256 }
    var isSamples: Bool { kind == .samples }
    /// Whether it carries a picture at which decoding can start.
    package var beginsWithKeyframe: Bool {
        guard let samples else { return false }
        return samples.beginsDecodable && samples.runs.contains { $0.track == .video }
    }
}

/// Where a record is in the log of a source.
package struct RecordNumber: Hashable, Sendable {
    /// The source's index in its connection.
    package var source: Int
    /// The first of the record's numbers.
    package var sequence: UInt64
    /// The clock of its times.
    package var epoch: UInt32

    package init(source: Int, sequence: UInt64, epoch: UInt32) {
        self.source = source
        self.sequence = sequence
        self.epoch = epoch
    }
}

/// The kind of a kept record; the raw value is its stored form.
package enum KeptRecordKind: UInt16, Hashable, Sendable {
    case samples = 1
    case gap = 2
    case format = 3
    case goodbye = 4
}

/// Limits of a cursor's records in memory and in flight. Unlimited for a log in memory.
package struct RecordWindow: Hashable, Sendable {
    /// Maximum memory of the records that are sent next, bytes.
    package var memoryBytes = Int.max
    /// Maximum payload bytes in flight. Records that a collector may have cannot be dropped, so this is the least that a full
    /// log must hold.
    package var inFlightBytes = Int.max
    /// Whether a backlog drains at a multiple of the capture rate (``DrainPacer``), or as fast as the credit allows.
    package var isPaced = false

    package init() {}
}

package import Media

/// A numbered record in its final encoding, which may be sent repeatedly.
package struct KeptRecord<Payload: Sendable>: Sendable {
    enum Content: Sendable {
        case samples(Samples, Payload)
        case gap(GapRecord)
        case format(TrackFormat)
        case goodbye
    }

    package internal(set) var sequences: ClosedRange<UInt64>
    var content: Content
    /// The message's header part.
    package internal(set) var header: [UInt8]
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
    /// Whether it is the last one of its source.
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
    var memoryBytes: Int { payloadBytes + header.count + 256 }
    var isSamples: Bool { kind == .samples }
    /// Whether it carries a picture at which decoding can start.
    package var beginsWithKeyframe: Bool {
        guard let samples else { return false }
        return samples.beginsDecodable && samples.runs.contains { $0.track == .video }
    }
}

/// The kind of a kept record; the raw value is its stored form.
package enum KeptRecordKind: UInt16, Hashable, Sendable {
    case samples = 1
    case gap = 2
    case format = 3
    case goodbye = 4
}

/// Limits of the records on a disk that are also in memory.
package struct RecordWindow: Hashable, Sendable {
    /// Maximum memory, bytes, for the records that are sent next.
    package var memoryBytes: Int
    /// Maximum payload bytes in flight. Records that a collector may have cannot be dropped, so this is the minimum
    /// capacity of a full disk.
    package var inFlightBytes: Int

    package init(memoryBytes: Int, inFlightBytes: Int) {
        self.memoryBytes = memoryBytes
        self.inFlightBytes = inFlightBytes
    }
}

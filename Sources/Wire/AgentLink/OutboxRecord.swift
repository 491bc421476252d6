import Media

/// A record that is kept until the collector has persisted it. Once numbered, it is never cut anew.
struct OutboxRecord<Payload: Sendable>: Sendable {
    enum Content: Sendable {
        case batch(Batch)
        case gap(GapRecord)
        case trackUpdate(TrackUpdate)
        case goodbye(Goodbye)
    }

    /// A batch with its header encoded, and what a gap must say if it has to go.
    struct Batch: Sendable {
        let header: [UInt8]
        let payload: Payload
        let payloadBytes: Int
        let epoch: UInt32
        let startNanoseconds: Int64
        let endNanoseconds: Int64
        let beginsWithVideoKeyframe: Bool

        init(_ samples: Samples, payload: Payload) {
            header = WireMessage.samples(samples).encoded()
            self.payload = payload
            payloadBytes = samples.payloadSizeBytes
            epoch = samples.epoch
            startNanoseconds = samples.runs.compactMap(\.dtsNanoseconds.first).min() ?? 0
            endNanoseconds =
                samples.runs.map { run in
                    run.dtsNanoseconds[run.count - 1] + run.durationNanoseconds(at: run.count - 1)
                }.max() ?? 0
            beginsWithVideoKeyframe =
                samples.beginsDecodable && samples.runs.contains { $0.track == .video }
        }
    }

    let sequences: ClosedRange<UInt64>
    let content: Content

    /// The payload's size; 0 for records without one.
    var payloadBytes: Int {
        switch content {
        case .batch(let batch): batch.payloadBytes
        case .gap, .trackUpdate, .goodbye: 0
        }
    }

    /// What sending it costs of the credit.
    var creditBytes: UInt64 { UInt64(payloadBytes) + WireLimits.recordCostBytes }

    /// What keeping it costs of the memory: its bytes, and a round figure for everything around them.
    var keptBytes: Int {
        switch content {
        case .batch(let batch): batch.payloadBytes + batch.header.count + 256
        case .gap, .trackUpdate, .goodbye: 256
        }
    }

    /// Samples that it carries.
    var sampleCount: Int {
        switch content {
        case .batch: sequences.count
        case .gap, .trackUpdate, .goodbye: 0
        }
    }

    /// The header part.
    var header: [UInt8] {
        switch content {
        case .batch(let batch): batch.header
        case .gap(let gap): WireMessage.gap(gap).encoded()
        case .trackUpdate(let update): WireMessage.trackUpdate(update).encoded()
        case .goodbye(let goodbye): WireMessage.goodbye(goodbye).encoded()
        }
    }

    /// The second part, if there is one.
    var payload: Payload? {
        switch content {
        case .batch(let batch): batch.payload
        case .gap, .trackUpdate, .goodbye: nil
        }
    }
}

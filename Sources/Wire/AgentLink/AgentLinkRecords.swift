package import Media

// Adding records to the link. An owner that stores them on a disk prepares a record, writes it, and then admits it:
// sent records are never newer than those on the disk, so that no number is assigned twice.
extension AgentLink {
    /// Numbers samples, and creates their message.
    /// - Parameters:
    ///   - runs: at most one per track.
    ///   - digest: SHA-256 of the payload.
    package func prepare(
        runs: [SampleRun], digest: [UInt8], payload: Payload, of source: Int
    ) -> KeptRecord<Payload> {
        let samples = Samples(
            source: source, firstSequence: nextSequence(of: source), epoch: epoch,
            payloadDigest: digest, runs: runs)
        return KeptRecord(
            sequences: samples.firstSequence...samples.lastSequence,
            content: .samples(samples, payload), header: WireMessage.samples(samples).encoded(),
            payloadBytes: samples.payloadSizeBytes)
    }

    /// The same for a loss of data that never became a sample.
    package func prepare(_ loss: Loss, of source: Int) -> KeptRecord<Payload> {
        let sequence = nextSequence(of: source)
        let gap = GapRecord(
            source: source, sequences: sequence...sequence, track: loss.track, cause: loss.cause,
            epoch: epoch, startNanoseconds: loss.startNanoseconds,
            durationNanoseconds: loss.durationNanoseconds, samples: loss.samples,
            text: printable(loss.text))
        return KeptRecord(gap)
    }

    /// The same for a change of format.
    package func prepare(_ format: TrackFormat, of source: Int) -> KeptRecord<Payload> {
        KeptRecord(
            TrackUpdate(source: source, sequence: nextSequence(of: source), format: format))
    }

    /// The same for the source's last record.
    package func prepareGoodbye(_ text: String, of source: Int) -> KeptRecord<Payload> {
        let sequence = nextSequence(of: source)
        let goodbye = Goodbye(source: source, sequence: sequence, text: printable(text))
        return KeptRecord(
            sequences: sequence...sequence, content: .goodbye,
            header: WireMessage.goodbye(goodbye).encoded())
    }

    /// Adds the record that was prepared last.
    package mutating func admit(
        _ record: KeptRecord<Payload>, to source: Int, now: Int64
    ) -> [Action] {
        outboxes[source].append(record)
        outboxes[source].schedule.add(
            through: record.sequences.upperBound, bytes: record.payloadBytes,
            mayWait: record.isSamples && isFlowing, clock: collectorClock, now: now)
        if record.isSamples {
            _ = outboxes[source].skipIfUndecodable(
                source: source, encode: { WireMessage.gap($0).encoded() })
        }
        return makeRoom() + pump(now: now)
    }

    /// No more records follow: when the collector has everything on the agent's disk, the link is finished without a
    /// Goodbye.
    package mutating func retire() {
        for index in outboxes.indices { outboxes[index].retire() }
    }

    // MARK: Records from the disk

    /// Adds records that were read for ``AgentAction/fetch(source:from:)``.
    /// - Parameters:
    ///   - records: without a hole between them; the first is, or contains, the requested one. Unreadable records are
    ///     replaced by a gap.
    ///   - formats: those in force before the first.
    package mutating func loaded(
        _ records: [KeptRecord<Payload>], formats: [TrackFormat], of source: Int, now: Int64
    ) -> [Action] {
        outboxes[source].load(records, formats: formats)
        // The collector has more than the Hello assumed, including a change of format: its formats are no longer valid.
        if isFlowing, outboxes.map(\.baseFormats) != announcedFormats, !hasSent {
            return connected(now: now)
        }
        return pump(now: now)
    }

    /// Records from a number on have been dropped from the disk, or replaced there.
    /// - Parameter samples: number of samples lost by that.
    package mutating func dropped(from sequence: UInt64, samples: UInt64, of source: Int) {
        outboxes[source].forgetWindow(from: sequence, lostSamples: samples)
    }

    /// Sets the size of a source's records on the disk, for reports.
    package mutating func setStoredBytes(_ bytes: Int, of source: Int) {
        outboxes[source].storedBytes = bytes
    }

    /// Whether records have been sent over the present connection.
    private var hasSent: Bool { outboxes.contains { $0.sentCount > 0 } }
}

extension KeptRecord {
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
}

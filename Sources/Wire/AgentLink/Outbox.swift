import Media

/// The records of one source that the collector has not persisted, in order and without a hole in their numbers.
struct Outbox<Payload: Sendable>: Sendable {
    typealias Record = OutboxRecord<Payload>

    let source: Int
    /// Forgotten records leave nil at the front until it is worth closing up.
    private var slots: [Record?] = []
    private var head = 0
    /// Place of the next record to send, counted from `head`.
    private var sentCount = 0
    /// The highest number that a collector may have: records up to it must stay as they are.
    private var highestSent: UInt64 = 0
    /// Until a batch that begins with a keyframe, batches of a source with video are of no use.
    private var skipsToKeyframe = false

    /// The formats in force at the oldest record.
    private(set) var formatsAtFront: [TrackFormat] = []
    private var newestFormats: [TrackFormat] = []
    private(set) var nextSequence: UInt64 = 1
    private(set) var keptBytes = 0
    private(set) var keptPayloadBytes = 0
    private(set) var keptSamples = 0
    /// Samples that the source lost, and that were dropped here.
    private(set) var lostSamples: UInt64 = 0
    /// Samples and payload bytes that were dropped here because memory was full.
    private(set) var droppedSamples = 0
    private(set) var droppedBytes = 0
    private(set) var persisted: UInt64 = 0
    private(set) var saidGoodbye = false

    init(source: Int) {
        self.source = source
    }

    /// Whether the source's formats are known.
    var hasBegun: Bool { !newestFormats.isEmpty }
    var isEmpty: Bool { head == slots.count }
    var newestSequence: UInt64 { nextSequence - 1 }
    /// Number of the oldest record, or of the first to come.
    var firstSequence: UInt64 { first?.sequences.lowerBound ?? nextSequence }
    /// Said goodbye, and nothing is left to persist.
    var isComplete: Bool { saidGoodbye && isEmpty }
    /// The next record to send.
    var nextToSend: Record? {
        head + sentCount < slots.count ? slots[head + sentCount] : nil
    }

    private var first: Record? { head < slots.count ? slots[head] : nil }
    private var hasVideo: Bool { newestFormats.contains { $0.kind == .video } }
}

// What goes in.
extension Outbox {
    mutating func begin(formats: [TrackFormat]) {
        precondition(!hasBegun, "a source begins once")
        newestFormats = formats
        formatsAtFront = formats
    }

    /// Numbers a batch and keeps it.
    mutating func append(_ samples: Samples, payload: Payload) {
        checkOpen()
        var samples = samples
        samples.source = source
        samples.firstSequence = nextSequence
        let batch = Record.Batch(samples, payload: payload)
        if batch.beginsWithVideoKeyframe { skipsToKeyframe = false }
        let record = Record(
            sequences: samples.firstSequence...samples.lastSequence, content: .batch(batch))
        if skipsToKeyframe {
            appendGap(spoolFull(batch, sequences: record.sequences))
        } else {
            append(record)
        }
    }

    /// Numbers a loss and keeps it; one like the loss before it becomes one with it.
    mutating func append(_ loss: Loss, epoch: UInt32) {
        checkOpen()
        lostSamples += loss.samples
        appendGap(
            GapRecord(
                source: source, sequences: nextSequence...nextSequence, track: loss.track,
                cause: loss.cause, epoch: epoch, startNanoseconds: loss.startNanoseconds,
                durationNanoseconds: loss.durationNanoseconds, samples: loss.samples,
                text: printable(loss.text)))
    }

    mutating func append(_ format: TrackFormat) {
        checkOpen()
        newestFormats = newestFormats.filter { $0.kind != format.kind } + [format]
        let update = TrackUpdate(source: source, sequence: nextSequence, format: format)
        append(Record(sequences: nextSequence...nextSequence, content: .trackUpdate(update)))
    }

    mutating func appendGoodbye(_ text: String) {
        checkOpen()
        let goodbye = Goodbye(source: source, sequence: nextSequence, text: printable(text))
        append(Record(sequences: nextSequence...nextSequence, content: .goodbye(goodbye)))
        saidGoodbye = true
    }

    private func checkOpen() {
        precondition(hasBegun && !saidGoodbye, "records come after the formats, before goodbye")
    }

    private mutating func append(_ record: Record) {
        slots.append(record)
        count(record, sign: 1)
        nextSequence = record.sequences.upperBound + 1
    }

    private mutating func appendGap(_ gap: GapRecord) {
        if let last = slots.last.flatMap({ $0 }), case .gap(let before) = last.content,
            last.sequences.lowerBound > highestSent, let merged = before.merged(with: gap)
        {
            slots[slots.count - 1] = Record(sequences: merged.sequences, content: .gap(merged))
            nextSequence = merged.sequences.upperBound + 1
        } else {
            append(Record(sequences: gap.sequences, content: .gap(gap)))
        }
    }

    private mutating func count(_ record: Record, sign: Int) {
        keptBytes += sign * record.keptBytes
        keptPayloadBytes += sign * record.payloadBytes
        keptSamples += sign * record.sampleCount
    }
}

// What goes out.
extension Outbox {
    /// Takes the next record to send.
    mutating func takeNextToSend() -> Record? {
        guard let record = nextToSend else { return nil }
        sentCount += 1
        highestSent = max(highestSent, record.sequences.upperBound)
        return record
    }

    /// Forgets everything up to a number.
    mutating func forget(upTo sequence: UInt64) {
        persisted = max(persisted, sequence)
        while let record = first, record.sequences.upperBound <= sequence {
            if case .trackUpdate(let update) = record.content {
                formatsAtFront =
                    formatsAtFront.filter { $0.kind != update.format.kind } + [update.format]
            }
            count(record, sign: -1)
            slots[head] = nil
            head += 1
            sentCount = max(0, sentCount - 1)
        }
        if head > 64, head > slots.count / 2 {
            slots.removeFirst(head)
            head = 0
        }
    }

    /// A new connection: everything that is still kept is sent again.
    ///
    /// What the collector has not received by now died with the connection before, so it may be changed again.
    mutating func rewind(received: UInt64) {
        sentCount = 0
        highestSent = received
    }
}

// What has to go when memory is full.
extension Outbox {
    /// Puts a gap in the place of the oldest records that no collector can have yet: up to the next batch that begins
    /// with a video keyframe, or one batch of a source without video. Other records in between stay.
    /// False when there is nothing to drop.
    mutating func dropOldestGroup() -> Bool {
        guard let range = oldestGroup() else { return false }
        var kept: [Record] = []
        for case .some(let record) in slots[range] {
            count(record, sign: -1)
            var addition = record
            if case .batch(let batch) = record.content {
                let gap = spoolFull(batch, sequences: record.sequences)
                addition = Record(sequences: record.sequences, content: .gap(gap))
            }
            if case .gap(let gap) = addition.content, case .gap(let before)? = kept.last?.content,
                let merged = before.merged(with: gap)
            {
                kept[kept.count - 1] = Record(sequences: merged.sequences, content: .gap(merged))
            } else {
                kept.append(addition)
            }
        }
        for record in kept { count(record, sign: 1) }
        slots.replaceSubrange(range, with: kept.map { $0 })
        return true
    }

    /// Joins gaps that follow each other, whatever their causes: when nothing but gaps is left to drop.
    mutating func joinGaps() {
        var joined: [Record?] = []
        let start = firstUnsent
        for case .some(let record) in slots[start...] {
            if case .gap(let gap) = record.content,
                case .gap(let before)? = joined.last.flatMap({ $0 })?.content
            {
                let both = before.joined(with: gap)
                joined[joined.count - 1] = Record(sequences: both.sequences, content: .gap(both))
                count(record, sign: -1)
            } else {
                joined.append(record)
            }
        }
        slots.replaceSubrange(start..., with: joined)
    }

    /// Places of the records that go next, beginning with a gap that is there already.
    private mutating func oldestGroup() -> Range<Int>? {
        let start = firstUnsent
        var firstBatch: Int?
        for index in start..<slots.count {
            guard case .batch(let batch)? = slots[index]?.content else { continue }
            if firstBatch == nil {
                firstBatch = index
            } else if !hasVideo || batch.beginsWithVideoKeyframe {
                return start..<index
            }
        }
        guard firstBatch != nil else { return nil }
        skipsToKeyframe = hasVideo
        return start..<slots.count
    }

    /// Place of the first record that no collector can have yet.
    private var firstUnsent: Int {
        var index = head + sentCount
        while index < slots.count, (slots[index]?.sequences.lowerBound ?? 0) <= highestSent {
            index += 1
        }
        return index
    }

    private mutating func spoolFull(
        _ batch: Record.Batch, sequences: ClosedRange<UInt64>
    ) -> GapRecord {
        lostSamples += UInt64(sequences.count)
        droppedSamples += sequences.count
        droppedBytes += batch.payloadBytes
        return GapRecord(
            source: source, sequences: sequences, track: nil, cause: .spoolFull,
            epoch: batch.epoch, startNanoseconds: batch.startNanoseconds,
            durationNanoseconds: max(0, batch.endNanoseconds - batch.startNanoseconds),
            samples: UInt64(sequences.count),
            text: "the agent's memory was full and the collector had not persisted it")
    }
}

extension GapRecord {
    /// Both as one, if they are alike and follow each other.
    fileprivate func merged(with next: GapRecord) -> GapRecord? {
        guard track == next.track, cause == next.cause, epoch == next.epoch else { return nil }
        return joined(with: next)
    }

    /// Both as one, whatever they are.
    fileprivate func joined(with next: GapRecord) -> GapRecord {
        precondition(next.sequences.lowerBound == sequences.upperBound + 1, "a hole in the numbers")
        let start = min(startNanoseconds, next.startNanoseconds)
        let end = max(
            startNanoseconds + durationNanoseconds,
            next.startNanoseconds + next.durationNanoseconds)
        var result = self
        result.sequences = sequences.lowerBound...next.sequences.upperBound
        result.startNanoseconds = start
        result.durationNanoseconds = min(end - start, WireLimits.gapNanoseconds)
        result.samples = samples + next.samples
        if track != next.track { result.track = nil }
        if cause != next.cause {
            result.cause = .spoolFull
            result.text = "losses of several causes, joined because the agent's memory was full"
        }
        return result
    }
}

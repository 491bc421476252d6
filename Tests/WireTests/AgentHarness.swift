import Media
import Testing

@testable import Wire

/// An agent's link with one source, its log, shorthands, and its sorted actions.
struct AgentHarness {
    var link: AgentLink<[UInt8]>
    var now: Int64 = 5_000 * Fixtures.second
    var sent: [WireMessage] = []
    var logs: [LinkLog] = []
    var commands: [Command] = []
    var pauses: [Int64] = []
    var isFinished = false
    var jpeg: [UInt8]?
    var failure: String?
    private var nextDTS: Int64 = 0
    private let formats: [TrackFormat]
    /// Records by their last number: those that were added here, and those that were sent.
    private var log: [UInt64: KeptRecord<[UInt8]>] = [:]

    init(
        formats: [TrackFormat] = [Fixtures.video, Fixtures.audio], gathers: Bool = false,
        forgetsAtPersisted: Bool = false
    ) {
        var settings = AgentLinkSettings(
            endpoint: "tcp://collector:5550", software: "tributary-agent 1", agent: "box7",
            spool: Fixtures.identity(1), epochs: [Fixtures.epoch])
        settings.memoryLimitBytes = 1 << 20
        self.formats = formats
        settings.gathers = gathers
        settings.forgetsAtPersisted = forgetsAtPersisted
        link = AgentLink(settings: settings)
        _ = link.addSource("camera1", formats: formats)
    }

    mutating func perform(_ actions: [AgentAction<[UInt8]>]) {
        for action in actions {
            switch action {
            case .send(let header, let payload):
                guard let message = try? WireMessage(decoding: header) else {
                    Issue.record("the agent sent what it would not read")
                    continue
                }
                if case .samples(let samples) = message {
                    #expect(payload?.count == samples.payloadSizeBytes)
                } else if case .report = message {
                    jpeg = payload
                } else {
                    #expect(payload == nil)
                }
                sent.append(message)
                if let record = try? KeptRecord(
                    header: header, payload: payload ?? [], payloadBytes: payload?.count ?? 0)
                {
                    log[record.sequences.upperBound] = record
                }
            case .fetch(_, let number): fetch(number)
            case .command(let command): commands.append(command)
            case .reconnect(let pause): pauses.append(pause)
            case .finished: isFinished = true
            case .failed(let line): failure = line
            case .log(let log): logs.append(log)
            }
        }
    }

    private mutating func fetch(_ number: UInt64) {
        let earlier = log.values.sorted { $0.sequences.lowerBound < $1.sequences.lowerBound }
        let inForce = earlier.filter { $0.sequences.upperBound < number }.compactMap(\.format)
            .reduce(formats) { $0.replacing($1) }
        let records = earlier.filter { $0.sequences.upperBound >= number }
        perform(link.loaded(records, formats: inForce, of: 0, now: now))
    }

    /// A batch of one sample.
    mutating func add(_ track: TrackKind = .video, isKeyframe: Bool = false, bytes: UInt32 = 1_000)
    {
        let run = Fixtures.run(track, sizes: [bytes], isKeyframe: isKeyframe, dts: nextDTS)
        nextDTS += 33_333_333
        let record = KeptRecord(
            [run], digest: [UInt8](repeating: 1, count: 32),
            payload: [UInt8](repeating: 7, count: Int(bytes)), at: link.nextNumber(of: 0))
        log[record.sequences.upperBound] = record
        perform(link.admit(record, to: 0, now: now))
    }

    mutating func connect() { perform(link.connected(now: now)) }

    mutating func receive(_ message: WireMessage) {
        perform(link.received(message.encoded(), now: now))
    }

    mutating func welcome(
        received: UInt64 = 0, persisted: UInt64 = 0, credit: UInt64 = 8 << 20,
        released: UInt64? = nil
    ) {
        receive(
            .welcome(
                Welcome(
                    software: "tributary-collector 1", session: "", heartbeatMilliseconds: 1_000,
                    sources: [
                        SourceState(
                            source: 0, received: received, persisted: persisted,
                            creditLimitBytes: credit, released: released)
                    ])))
    }

    mutating func acknowledge(
        received: UInt64, persisted: UInt64, credit: UInt64 = 8 << 20, released: UInt64? = nil
    ) {
        let state = SourceState(
            source: 0, received: received, persisted: persisted, creditLimitBytes: credit,
            released: released)
        receive(.acknowledgement(Acknowledgement(sources: [state], session: "")))
    }

    mutating func tick(milliseconds: Int64) {
        now += milliseconds * 1_000_000
        perform(link.tick(now: now))
    }

    /// Messages sent since the last call.
    mutating func takeSent() -> [WireMessage] {
        defer { sent.removeAll() }
        return sent
    }

    /// The numbers of the records sent since the last call.
    mutating func takeSequences() -> [ClosedRange<UInt64>] {
        takeSent().compactMap { message in
            switch message {
            case .samples(let samples): samples.firstSequence...samples.lastSequence
            case .gap(let gap): gap.sequences
            case .trackUpdate(let update): update.sequence...update.sequence
            case .goodbye(let goodbye): goodbye.sequence...goodbye.sequence
            default: nil
            }
        }
    }
}

extension AgentLink {
    mutating func add(
        runs: [SampleRun], digest: [UInt8], payload: Payload, to source: Int, now: Int64
    ) -> [Action] {
        add(to: source, now: now) { KeptRecord(runs, digest: digest, payload: payload, at: $0) }
    }

    mutating func add(_ loss: Loss, to source: Int, now: Int64) -> [Action] {
        add(to: source, now: now) { KeptRecord(loss, at: $0) }
    }

    mutating func setFormat(_ format: TrackFormat, of source: Int, now: Int64) -> [Action] {
        add(to: source, now: now) { KeptRecord(format, at: $0) }
    }

    mutating func sayGoodbye(_ text: String, of source: Int, now: Int64) -> [Action] {
        add(to: source, now: now) { KeptRecord(goodbye: text, at: $0) }
    }
}

import SwiftProtobuf

extension WireMessage {
    /// The header part's bytes.
    package func encoded() -> [UInt8] {
        var envelope = Tributary_V1_Envelope()
        envelope.message =
            switch self {
            case .hello(let hello): .hello(hello.encoded())
            case .samples(let samples): .samples(samples.encoded())
            case .gap(let gap): .gap(gap.encoded())
            case .trackUpdate(let update): .trackUpdate(update.encoded())
            case .goodbye(let goodbye): .goodbye(goodbye.encoded())
            case .clockProbe(let probe): .clockProbe(probe.encoded())
            case .heartbeat(let heartbeat): .heartbeat(heartbeat.encoded())
            case .welcome(let welcome): .welcome(welcome.encoded())
            case .acknowledgement(let ack): .ack(ack.encoded())
            case .refusal(let refusal): .refusal(refusal.encoded())
            case .clockReply(let reply): .clockReply(reply.encoded())
            case .ping: .ping(Tributary_V1_Ping())
            case .command(let command): .command(command.encoded())
            case .report(let report): .report(report.encoded())
            case .enrol(let enrol): .enrol(enrol.encoded())
            case .enrolled(let enrolled): .enrolled(enrolled.encoded())
            case .unknown: nil
            }
        do {
            return try envelope.serializedBytes()
        } catch {
            // Serialising only fails for missing required fields (proto2) and above 2 GB.
            preconditionFailure("a message of this protocol always serialises: \(error)")
        }
    }

    /// Decodes a header part and validates everything that does not depend on the connection's state.
    package init(decoding header: [UInt8]) throws(WireError) {
        guard header.count <= WireLimits.headerBytes else {
            throw .limit(
                "a header of \(header.count) bytes; \(WireLimits.headerBytes) are allowed")
        }
        if let fields = SamplesFields(header: header) {
            self = .samples(try Samples(fields))
            return
        }
        try self.init(decodingAny: header)
    }

    /// The general decoder: for every message, in every valid encoding.
    init(decodingAny header: [UInt8]) throws(WireError) {
        let envelope: Tributary_V1_Envelope
        do {
            envelope = try Tributary_V1_Envelope(serializedBytes: header)
        } catch {
            throw .malformed("the header is not a valid message of this protocol")
        }
        switch envelope.message {
        case .hello(let hello): self = .hello(try Hello(decoding: hello))
        case .samples(let samples): self = .samples(try Samples(decoding: samples))
        case .gap(let gap): self = .gap(try GapRecord(decoding: gap))
        case .trackUpdate(let update): self = .trackUpdate(try TrackUpdate(decoding: update))
        case .goodbye(let goodbye): self = .goodbye(try Goodbye(decoding: goodbye))
        case .clockProbe(let probe): self = .clockProbe(ClockProbe(decoding: probe))
        case .heartbeat(let heartbeat): self = .heartbeat(try Heartbeat(decoding: heartbeat))
        case .welcome(let welcome): self = .welcome(try Welcome(decoding: welcome))
        case .ack(let ack): self = .acknowledgement(try Acknowledgement(decoding: ack))
        case .refusal(let refusal): self = .refusal(try Refusal(decoding: refusal))
        case .clockReply(let reply): self = .clockReply(ClockReply(decoding: reply))
        case .ping: self = .ping
        case .command(let command): self = .command(try Command(decoding: command))
        case .report(let report): self = .report(try Report(decoding: report))
        case .enrol(let enrol): self = .enrol(try Enrol(decoding: enrol))
        case .enrolled(let enrolled): self = .enrolled(try Enrolled(decoding: enrolled))
        case nil: self = .unknown
        }
    }

    /// Whether a header may be that of a message without a reply, by its first byte: samples and heartbeats, which are
    /// nearly all messages.
    package static func mayWait(_ header: UnsafeRawBufferPointer) -> Bool {
        header.first == EnvelopeTag.samples || header.first == EnvelopeTag.heartbeat
    }

    /// Whether a header may be that of samples, by its first byte.
    package static func maySample(_ header: UnsafeRawBufferPointer) -> Bool {
        header.first == EnvelopeTag.samples
    }

    /// Whether a header may be that of a Welcome, by its first bytes.
    package static func mayWelcome(_ header: [UInt8]) -> Bool {
        header.starts(with: EnvelopeTag.welcome)
    }

    /// The message's name in the protocol's definition.
    var name: String {
        switch self {
        case .hello: "Hello"
        case .samples: "Samples"
        case .gap: "Gap"
        case .trackUpdate: "TrackUpdate"
        case .goodbye: "Goodbye"
        case .clockProbe: "ClockProbe"
        case .heartbeat: "Heartbeat"
        case .welcome: "Welcome"
        case .acknowledgement: "Ack"
        case .refusal: "Refusal"
        case .clockReply: "ClockReply"
        case .ping: "Ping"
        case .command: "Command"
        case .report: "Report"
        case .enrol: "Enrol"
        case .enrolled: "Enrolled"
        case .unknown: "a message of a later version"
        }
    }
}

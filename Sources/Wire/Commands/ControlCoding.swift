import FoundationEssentials
import SwiftProtobuf

/// The first fields of requests and replies.
private enum ControlProtocol {
    /// "TRIC".
    static let magic: UInt32 = 0x5452_4943
    static let major: UInt32 = 1
    /// Maximum size of a message: a reply names every source of a large site.
    static let maximumBytes = 4 << 20
}

extension ControlRequest {
    package func encoded() -> [UInt8] {
        var message = Tributary_V1_ControlRequest()
        message.magic = ControlProtocol.magic
        message.major = ControlProtocol.major
        message.id = id
        switch request {
        case .stopSession(let session):
            message.stopSession = .with { $0.session = session ?? "" }
        case .command(let request, let source):
            message.agentCommand = .with {
                $0.source = source ?? ""
                $0.command = Command(id: id, source: 0, request: request).encoded()
            }
        case .sessionChanged(let session):
            message.sessionChanged = .with { $0.session = session }
        case .changeSession(let change):
            message.changeSession = .with {
                $0.session = change.session
                if let name = change.name { $0.name = name }
                if let note = change.note { $0.note = note }
                $0.addTags = change.addedTags
                $0.removeTags = change.removedTags
                if let isProtected = change.isProtected { $0.protected = isProtected }
                $0.remove = change.isRemoval
                $0.addMarks = change.addedMarks.map { mark in
                    .with {
                        $0.id = mark.id
                        $0.at = mark.atNanoseconds
                        $0.text = mark.text
                        $0.source = mark.source ?? ""
                    }
                }
                $0.removeMarks = change.removedMarks
            }
        case .drain(let isCancelled, let collector):
            message.drain = .with {
                $0.cancel = isCancelled
                $0.collector = collector ?? ""
            }
        case .status:
            message.readStatus = Tributary_V1_ReadStatus()
        case .unknown: break
        }
        return serialized(message)
    }

    package init(decoding bytes: [UInt8]) throws(ControlError) {
        let message: Tributary_V1_ControlRequest = try parsed(bytes)
        try check(message.magic, message.major, id: message.id)
        id = message.id
        switch message.request {
        case .stopSession(let stop):
            guard stop.session.isEmpty || SourceName.isValid(stop.session) else {
                throw ControlError(
                    id: id, failure: .malformed, text: "invalid session name")
            }
            request = .stopSession(stop.session.isEmpty ? nil : stop.session)
        case .agentCommand(let command):
            guard command.source.isEmpty || SourceName.isValid(command.source) else {
                throw ControlError(
                    id: id, failure: .malformed, text: "invalid source name")
            }
            request = .command(
                try checked(id) { () throws(WireError) in
                    try Command(decoding: command.command).request
                }, source: command.source.isEmpty ? nil : command.source)
        case .sessionChanged(let change):
            guard SourceName.isValid(change.session) else {
                throw ControlError(id: id, failure: .malformed, text: "invalid session name")
            }
            request = .sessionChanged(change.session)
        case .changeSession(let message):
            guard SourceName.isValid(message.session) else {
                throw ControlError(id: id, failure: .malformed, text: "invalid session name")
            }
            var change = SessionChange(of: message.session)
            if message.hasName { change.name = message.name }
            if message.hasNote { change.note = message.note }
            change.addedTags = message.addTags
            change.removedTags = message.removeTags
            if message.hasProtected { change.isProtected = message.protected }
            change.addedMarks = message.addMarks.map {
                SessionChange.Mark(
                    id: $0.id, atNanoseconds: $0.at, text: $0.text,
                    source: $0.source.isEmpty ? nil : $0.source)
            }
            change.removedMarks = message.removeMarks
            if message.remove {
                guard change == SessionChange(of: message.session) else {
                    throw ControlError(
                        id: id, failure: .malformed, text: "a removal that also changes something")
                }
                change.isRemoval = true
            }
            request = .changeSession(change)
        case .drain(let drain):
            request = .drain(
                isCancelled: drain.cancel,
                collector: drain.collector.isEmpty ? nil : printable(drain.collector))
        case .readStatus:
            request = .status
        case nil:
            request = .unknown
        }
    }
}

extension ControlReply {
    package func encoded() -> [UInt8] {
        var message = Tributary_V1_ControlReply()
        message.magic = ControlProtocol.magic
        message.major = ControlProtocol.major
        message.id = id
        switch reply {
        case .sessionStopped(let stopped):
            message.sessionStopped = .with { message in
                message.session = stopped.name
                message.duration = stopped.durationNanoseconds
                message.sources = stopped.sources.map { source in
                    .with {
                        $0.name = source.name
                        $0.pictures = source.pictures
                        $0.soundPackets = source.soundPackets
                        $0.payloadBytes = source.payloadBytes
                        $0.lostSamples = source.lostSamples
                    }
                }
            }
        case .report(let report, let payload):
            message.agentReport = .with {
                $0.report = Report(id: id, source: 0, reply: report).encoded()
                $0.payload = Data(payload)
            }
        case .changeTold:
            message.changeTold = Tributary_V1_ChangeTold()
        case .draining(let progress):
            message.draining = .with {
                $0.collector = progress.collector
                $0.moving = UInt32(clamping: progress.moving)
                $0.staying = progress.staying
                $0.unwritten = UInt32(clamping: progress.unwritten)
                $0.leaving = UInt32(clamping: progress.leaving)
                $0.returned = progress.returned
            }
        case .status(let json):
            message.status = .with { $0.json = Data(json) }
        case .failure(let failure, let text):
            message.failure = .with {
                $0.reason = .init(rawValue: failure.rawValue) ?? .failureUnspecified
                $0.text = printable(text)
            }
        case .unknown: break
        }
        return serialized(message)
    }

    package init(decoding bytes: [UInt8]) throws(ControlError) {
        let message: Tributary_V1_ControlReply = try parsed(bytes)
        try check(message.magic, message.major, id: message.id)
        id = message.id
        switch message.reply {
        case .sessionStopped(let stopped):
            reply = .sessionStopped(
                StoppedSession(
                    name: printable(stopped.session), durationNanoseconds: stopped.duration,
                    sources: stopped.sources.map {
                        StoppedSession.Source(
                            name: printable($0.name), pictures: $0.pictures,
                            soundPackets: $0.soundPackets, payloadBytes: $0.payloadBytes,
                            lostSamples: $0.lostSamples)
                    }))
        case .agentReport(let report):
            reply = .report(
                try checked(id) { () throws(WireError) in
                    try Report(decoding: report.report).reply
                }, payload: Array(report.payload))
        case .changeTold:
            reply = .changeTold
        case .draining(let message):
            reply = .draining(
                DrainProgress(
                    collector: printable(message.collector), moving: Int(message.moving),
                    staying: message.staying.map { printable($0) },
                    unwritten: Int(message.unwritten), leaving: Int(message.leaving),
                    returned: message.returned.map { printable($0) }))
        case .status(let status):
            reply = .status(Array(status.json))
        case .failure(let failure):
            reply = .failure(
                ControlFailure(rawValue: failure.reason.rawValue) ?? .other,
                printable(failure.text))
        case nil:
            reply = .unknown
        }
    }
}

/// Applies the agent protocol's checks to a value.
private func checked<Value>(
    _ id: UInt64, _ decode: () throws(WireError) -> Value
) throws(ControlError) -> Value {
    do throws(WireError) {
        return try decode()
    } catch {
        throw ControlError(id: id, failure: .malformed, text: error.description)
    }
}

private func serialized(_ message: some Message) -> [UInt8] {
    do {
        return try message.serializedBytes()
    } catch {
        preconditionFailure("a message without required fields always encodes: \(error)")
    }
}

private func parsed<Parsed: Message>(_ bytes: [UInt8]) throws(ControlError) -> Parsed {
    guard bytes.count <= ControlProtocol.maximumBytes else {
        throw ControlError(failure: .malformed, text: "\(bytes.count) bytes are too many")
    }
    do {
        return try Parsed(serializedBytes: bytes)
    } catch {
        throw ControlError(failure: .malformed, text: "not a message of the control protocol")
    }
}

private func check(_ magic: UInt32, _ major: UInt32, id: UInt64) throws(ControlError) {
    guard magic == ControlProtocol.magic else {
        throw ControlError(
            id: id, failure: .malformed, text: "not a message of the control protocol")
    }
    guard major == ControlProtocol.major else {
        throw ControlError(
            id: id, failure: .version,
            text: "control version \(major) is not supported, only \(ControlProtocol.major): use "
                + "'tributary' and 'tributary-collector' of the same major version")
    }
}

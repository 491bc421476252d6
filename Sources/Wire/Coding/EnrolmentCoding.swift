import FoundationEssentials
import SwiftProtobuf

extension Enrol {
    func encoded() -> Tributary_V1_Enrol {
        var message = Tributary_V1_Enrol()
        message.magic = WireLimits.magic
        message.major = WireLimits.major
        message.minor = WireLimits.minor
        message.software = software
        message.agent = agent
        message.publicKey = Data(publicKey)
        return message
    }

    init(decoding message: Tributary_V1_Enrol) throws(WireError) {
        guard message.magic == WireLimits.magic else { throw .magic(message.magic) }
        guard message.major == WireLimits.major else { throw .version(message.major) }
        software = try FieldChecks.text(
            message.software, "Enrol.software", limit: WireLimits.labelBytes)
        agent = try FieldChecks.text(message.agent, "Enrol.agent", limit: WireLimits.labelBytes)
        guard message.publicKey.count == WireLimits.publicKeyBytes else {
            throw .malformed(
                "Enrol.public_key has \(message.publicKey.count) bytes; "
                    + "\(WireLimits.publicKeyBytes) needed")
        }
        publicKey = Array(message.publicKey)
    }
}

extension Enrolled {
    func encoded() -> Tributary_V1_Enrolled {
        var message = Tributary_V1_Enrolled()
        message.name = name
        message.sources = sources.prefix(WireLimits.patternsPerKey).map(\.description)
        return message
    }

    init(decoding message: Tributary_V1_Enrolled) throws(WireError) {
        guard SourceName.isValid(message.name) else {
            throw .name("Enrolled.name is not a valid name")
        }
        name = message.name
        try FieldChecks.count(
            message.sources.count, "Enrolled.sources", 0...WireLimits.patternsPerKey)
        sources = []
        for text in message.sources {
            guard let pattern = SourcePattern(text) else {
                throw .name("Enrolled.sources has an invalid source pattern")
            }
            sources.append(pattern)
        }
    }
}

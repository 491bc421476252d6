/// Why a message was not taken: what it gets the sender refused for.
package enum WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The header is not a message of this protocol; the text says where it broke.
    case malformed(String)
    /// Past one of ``WireLimits``; the text says which.
    case limit(String)
    /// A Hello that is not from a tributary agent.
    case magic(UInt32)
    /// A major version that is not spoken here.
    case version(UInt32)
    /// A name that cannot become a directory, or a source that is named twice.
    case name(String)

    /// What the refusal says.
    package var reason: RefusalReason {
        switch self {
        case .malformed, .magic: .malformed
        case .limit: .limit
        case .version: .version
        case .name: .name
        }
    }

    /// One line for people.
    package var description: String {
        switch self {
        case .malformed(let text), .limit(let text), .name(let text):
            text
        case .magic(let magic):
            "Hello starts with \(hexadecimal(magic)), not with \(hexadecimal(WireLimits.magic)): "
                + "this is no tributary agent"
        case .version(let major):
            "protocol version \(major) is not spoken here, only \(WireLimits.major): "
                + "use an agent and a collector of the same major version"
        }
    }
}

private func hexadecimal(_ value: UInt32) -> String {
    "0x" + String(value, radix: 16, uppercase: true)
}

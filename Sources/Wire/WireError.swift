/// Why a message was rejected: the reason for refusing its sender.
package enum WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The header is not a message of this protocol; the text is the reason.
    case malformed(String)
    /// A value above one of ``WireLimits``; the text names it.
    case limit(String)
    /// A Hello that is not from a tributary agent.
    case magic(UInt32)
    /// An unsupported major version.
    case version(UInt32)
    /// A name that is not a valid directory name, or a source that is named twice.
    case name(String)

    /// The reason in the refusal.
    package var reason: RefusalReason {
        switch self {
        case .malformed, .magic: .malformed
        case .limit: .limit
        case .version: .version
        case .name: .name
        }
    }

    /// One line of text.
    package var description: String {
        switch self {
        case .malformed(let text), .limit(let text), .name(let text):
            text
        case .magic(let magic):
            "Hello starts with \(hexadecimal(magic)), not with \(hexadecimal(WireLimits.magic)): "
                + "this is not a tributary agent"
        case .version(let major):
            "protocol version \(major) is not supported, only \(WireLimits.major): "
                + "use an agent and a collector of the same major version"
        }
    }
}

private func hexadecimal(_ value: UInt32) -> String {
    "0x" + String(value, radix: 16, uppercase: true)
}

import ArgumentParser

/// An HTTP address in options: `127.0.0.1:5580`, `[::1]:5580`, `server:5580`, or a port of this machine, `5580`.
package struct HTTPAddress: HintedArgument, Hashable, CustomStringConvertible {
    package static var valueHint: String { "host:port, or a port of this machine, such as 5580" }

    /// A name or an address, without brackets.
    package let host: String
    /// 0: any free port.
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package init?(argument: String) {
        var text = Substring(argument)
        if text.hasPrefix("http://") { text = text.dropFirst(7) }
        if text.hasSuffix("/") { text = text.dropLast() }
        guard let colon = text.lastIndex(of: ":") else {
            guard let port = UInt16(text) else { return nil }
            self.init(host: "127.0.0.1", port: port)
            return
        }
        guard let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            // An IPv6 address without brackets is ambiguous.
            return nil
        }
        guard host.allSatisfy({ !$0.isWhitespace && $0 != "/" }) else { return nil }
        self.init(host: host.isEmpty ? "127.0.0.1" : String(host), port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

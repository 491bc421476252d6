import Glibc
import Synchronization
import Threads

/// Checks on a separate thread whether a host name can be resolved: libzmq retries an unknown name forever, without reporting it.
package final class HostLookup: Sendable {
    private struct State {
        var isAsking = false
        var askedNanoseconds: Int64?
        var trouble: String?
    }

    /// The name server may be repaired, or the network may come up.
    private static let intervalNanoseconds: Int64 = 10_000_000_000

    private let host: String?
    private let state = Mutex(State())

    /// - Parameter endpoint: ZeroMQ's; only `tcp://` endpoints have a host.
    package init(of endpoint: String) {
        host = Self.host(of: endpoint)
    }

    /// Starts a lookup when one is due, and returns at once.
    /// - Returns: the last lookup's error; nil: it succeeded, or there is no result yet.
    package func trouble(now: Int64) -> String? {
        guard let host else { return nil }
        let (isDue, trouble) = state.withLock { state in
            let isDue =
                !state.isAsking
                && state.askedNanoseconds.map { now - $0 >= Self.intervalNanoseconds } ?? true
            if isDue {
                state.isAsking = true
                state.askedNanoseconds = now
            }
            return (isDue, state.trouble)
        }
        if isDue {
            // The resolver may take minutes if no name server answers.
            NamedThread.start("resolve") { [self] in
                let trouble = Self.look(up: host)
                state.withLock { state in
                    state.isAsking = false
                    state.trouble = trouble
                }
            }
        }
        return trouble
    }

    /// Why a name cannot be resolved, in one line; nil: it can be. Blocks.
    package static func trouble(of endpoint: String) -> String? {
        host(of: endpoint).flatMap(look(up:))
    }

    private static func look(up host: String) -> String? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else {
            return
                "the host name '\(host)' cannot be resolved (\(String(cString: gai_strerror(status))))"
        }
        freeaddrinfo(list)
        return nil
    }

    /// The host of `tcp://[source;]host:port`; nil: none.
    static func host(of endpoint: String) -> String? {
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else {
            return nil
        }
        var host = endpoint[endpoint.index(endpoint.startIndex, offsetBy: 6)..<colon]
        if let semicolon = host.lastIndex(of: ";") {
            host = host[host.index(after: semicolon)...]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return host.isEmpty || host == "*" ? nil : String(host)
    }
}

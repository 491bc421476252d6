import Glibc
package import Messaging
import Media
import Synchronization

/// The lookups of an endpoint's host name, for one connection after the other.
///
/// A lookup never blocks the caller. Any thread may call.
package final class HostLookup: Sendable {
    private struct State {
        var pending: PendingLookup?
        var askedNanoseconds: Int64?
        /// The last lookup's error.
        var failure: String?
        /// The last answer with addresses.
        var addresses: HostAddresses?
        /// Whether the last answer belongs to an earlier connection.
        var isOutdated = false
    }

    /// Interval of lookups while there is no connection. The name server may be repaired, the network may come up, and the
    /// collector may get another address.
    private static let intervalNanoseconds: Int64 = 2_000_000_000
    /// Time without an answer that is reported.
    private static let silenceNanoseconds: Int64 = 1_000_000_000

    /// ZeroMQ's; only `tcp://` endpoints have a host.
    package let endpoint: String
    /// Nil: no lookup is needed.
    private let name: String?
    private let resolver: HostResolver
    private let wakeUp: WakeUp?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - endpoint: ZeroMQ's.
    ///   - wakeUp: signalled with each answer.
    package init(
        of endpoint: String, resolver: HostResolver = .system, wakeUp: WakeUp? = nil
    ) {
        self.endpoint = endpoint
        self.resolver = resolver
        self.wakeUp = wakeUp
        name = Self.host(of: endpoint).flatMap { Self.isNumeric($0) ? nil : $0 }
    }

    /// Whether the endpoint has a host name, whose address may change.
    var hasName: Bool { name != nil }

    /// The host has to be looked up for another connection.
    package func begin() { state.withLock { $0.isOutdated = true } }

    /// Starts a lookup when one is due.
    /// - Returns: the endpoint with the host's address, for libzmq, which prefers IPv6; nil: it is not known yet.
    package func address(now: Int64) -> String? {
        guard let name else { return endpoint }
        return state.withLock { state in
            update(&state, name, now: now)
            return state.isOutdated ? nil : state.addresses?.endpoint(of: endpoint)
        }
    }

    /// Starts a lookup when one is due.
    /// - Returns: as ``endpoints(of:patienceMilliseconds:)``, once the name was resolved; nil: not yet.
    package func endpoints(now: Int64) -> [String]? {
        guard let name, Self.isName(endpoint) else { return [endpoint] }
        return state.withLock { state in
            if state.addresses == nil { update(&state, name, now: now) }
            return state.addresses?.endpoints(of: endpoint)
        }
    }

    /// Why there is no address: the last lookup's error, or a name server that does not answer. Nil: the name was resolved, or there
    /// is no result yet.
    package func trouble(now: Int64) -> String? {
        guard let name else { return nil }
        return state.withLock { state in
            settle(&state)
            if let pending = state.pending,
                now - pending.startedNanoseconds > Self.silenceNanoseconds
            {
                return "the name server does not answer for '\(name)'"
            }
            return state.failure
        }
    }

    /// libzmq does not accept the address of the last answer.
    func refused(_ error: MessagingError) {
        state.withLock { $0.failure = "\(error)" }
    }

    private func update(_ state: inout State, _ name: String, now: Int64) {
        settle(&state)
        guard state.pending == nil else { return }
        let isDue = state.askedNanoseconds.map { now - $0 >= Self.intervalNanoseconds } ?? true
        guard isDue || state.isOutdated && state.failure == nil else { return }
        state.askedNanoseconds = now
        state.pending = resolver.start(name, now: now, wakeUp: wakeUp)
    }

    private func settle(_ state: inout State) {
        guard let answer = state.pending?.answer else { return }
        state.pending = nil
        switch answer {
        case .success(let addresses):
            state.addresses = addresses
            state.failure = nil
            state.isOutdated = false
        case .failure(let failure):
            state.failure = "\(failure)"
        }
    }

    /// The collectors behind a host name, as `tcp://` endpoints in the order of their addresses.
    ///
    /// Only addresses that other machines can have count: the IPv4 ones, or the IPv6 ones if there are no others, because a
    /// machine with one address of each kind is one collector.
    /// - Parameter patienceMilliseconds: maximum time for which the call blocks.
    /// - Returns: the original endpoint if the name has one address, or was not resolved in time.
    package static func endpoints(
        of endpoint: String, patienceMilliseconds: Int
    ) -> [String] {
        guard let host = host(of: endpoint), isName(endpoint) else { return [endpoint] }
        let lookup = HostResolver.system.start(
            host, now: SystemClock.monotonic.nowNanoseconds, wakeUp: nil)
        guard case .success(let addresses)? = lookup.wait(milliseconds: patienceMilliseconds)
        else { return [endpoint] }
        return addresses.endpoints(of: endpoint)
    }

    /// Whether the endpoint has a host name, which may have several addresses.
    static func isName(_ endpoint: String) -> Bool {
        guard let host = host(of: endpoint), !endpoint.contains(";") else { return false }
        return !host.contains(":") && host.contains { !$0.isNumber && $0 != "." }
    }

    /// Whether a host is an address in digits, which needs no name server.
    static func isNumeric(_ host: String) -> Bool {
        var address = in6_addr()
        // An IPv6 address may have the name of an interface (RFC 4007 §11).
        let digits = String(host.prefix { $0 != "%" })
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, digits, &address) == 1
    }

    /// The host of `tcp://[source;]host:port`; nil: none.
    static func host(of endpoint: String) -> String? {
        guard let range = hostRange(of: endpoint) else { return nil }
        var host = endpoint[range]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return host.isEmpty || host == "*" ? nil : String(host)
    }

    /// The range of the host in `tcp://[source;]host:port`.
    static func hostRange(of endpoint: String) -> Range<String.Index>? {
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else {
            return nil
        }
        let start = endpoint.index(endpoint.startIndex, offsetBy: 6)
        guard start <= colon else { return nil }
        let semicolon = endpoint[start..<colon].lastIndex(of: ";")
        return (semicolon.map { endpoint.index(after: $0) } ?? start)..<colon
    }
}

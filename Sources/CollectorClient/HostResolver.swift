import Glibc
import Messaging
import Synchronization
import Threads

/// Resolves host names on separate threads: one for each name, shared by all connections that wait for it.
///
/// A lookup takes as long as the name servers, which is tens of seconds if none answers. libzmq would resolve names on the thread
/// that serves all connections of a context, so it gets numeric addresses only.
package final class HostResolver: Sendable {
    /// The addresses of a host name, or the error of its lookup.
    package typealias Answer = Result<HostAddresses, HostFailure>

    /// The system's resolver (getaddrinfo(3)). Shared by all connections of the process, which bounds the threads of hung lookups.
    package static let system = HostResolver { host in lookUp(host) }

    private let resolve: @Sendable (String) -> Answer
    private let pending = Mutex<[String: PendingLookup]>([:])

    /// - Parameter resolve: blocks its thread until there is an answer.
    package init(_ resolve: @escaping @Sendable (_ host: String) -> Answer) {
        self.resolve = resolve
    }

    /// Starts a lookup, or joins the pending one of the same name. Returns at once.
    /// - Parameter wakeUp: signalled with the answer.
    func start(_ host: String, now: Int64, wakeUp: WakeUp?) -> PendingLookup {
        let (lookup, isNew) = pending.withLock { pending in
            if let lookup = pending[host] { return (lookup, false) }
            let lookup = PendingLookup(startedNanoseconds: now)
            pending[host] = lookup
            return (lookup, true)
        }
        if let wakeUp { lookup.wakes(wakeUp) }
        if isNew {
            NamedThread.start("resolve") { [self] in
                let answer = resolve(host)
                // A lookup that is started from now on is a new one.
                pending.withLock { $0[host] = nil }
                lookup.finish(answer)
            }
        }
        return lookup
    }

    /// The addresses of a name. Blocks.
    static func lookUp(_ host: String) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else {
            return .failure(HostFailure(host: host, text: String(cString: gai_strerror(status))))
        }
        defer { freeaddrinfo(list) }
        var addresses = HostAddresses()
        var next = list
        while let entry = next {
            addresses.add(entry.pointee.ai_addr)
            next = entry.pointee.ai_next
        }
        return .success(addresses)
    }
}

/// A host name cannot be resolved.
package struct HostFailure: Error, Hashable, CustomStringConvertible {
    package var host: String
    /// The resolver's error message.
    package var text: String

    package init(host: String, text: String) {
        self.host = host
        self.text = text
    }

    package var description: String { "the host name '\(host)' cannot be resolved (\(text))" }
}

/// A lookup that may still wait for a name server; its callers may have stopped waiting.
final class PendingLookup: Sendable {
    private struct State {
        var answer: HostResolver.Answer?
        var wakeUps: [ObjectIdentifier: WakeUp] = [:]
    }

    let startedNanoseconds: Int64
    private let state = Mutex(State())
    private let answered = Semaphore(value: 0)

    init(startedNanoseconds: Int64) { self.startedNanoseconds = startedNanoseconds }

    /// Nil: there is none yet.
    var answer: HostResolver.Answer? { state.withLock(\.answer) }

    /// Signals this with the answer.
    func wakes(_ wakeUp: WakeUp) {
        let isAnswered = state.withLock { state in
            if state.answer == nil { state.wakeUps[ObjectIdentifier(wakeUp)] = wakeUp }
            return state.answer != nil
        }
        if isAnswered { wakeUp.signal() }
    }

    func finish(_ answer: HostResolver.Answer) {
        let wakeUps = state.withLock { state in
            defer { state.wakeUps = [:] }
            state.answer = answer
            return state.wakeUps.values
        }
        for wakeUp in wakeUps { wakeUp.signal() }
        answered.signal()
    }

    /// Blocks until there is an answer, or until the timeout.
    func wait(milliseconds: Int) -> HostResolver.Answer? {
        // Each wait takes the signal of the answer, and passes it on.
        if answered.wait(milliseconds: milliseconds) { answered.signal() }
        return answer
    }
}

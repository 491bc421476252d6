import Dispatch

/// Running services, in the order in which they were started; stops them in the opposite order.
///
/// Owned by the thread that starts them.
final class ServiceStack {
    private var stops: [(DispatchTime) -> Void] = []

    /// A service has been started.
    /// - Parameter stop: stops it, and waits for it no longer than until the given time, if it can be abandoned.
    func append(_ stop: @escaping (_ deadline: DispatchTime) -> Void) { stops.append(stop) }

    /// Stops every service, the last one first.
    /// - Parameter deadline: until when services are waited for; called before each of them.
    func stop(until deadline: () -> DispatchTime) {
        while let stop = stops.popLast() { stop(deadline()) }
    }
}

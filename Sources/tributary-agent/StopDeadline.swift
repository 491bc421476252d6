import Dispatch
import Encoding
import Glibc
import Logging
import Terminal

/// Ends the process if a disk or a device that does not respond keeps it from ending after a stop.
enum StopDeadline {
    /// Time after the linger: an uplink whose spool does not respond is given up after five seconds.
    private static let grace = Duration.seconds(10)

    /// - Parameter linger: time limit for sending after the stop.
    static func begin(linger: Duration, _ logger: Logger) {
        let nanoseconds = Int((linger + grace).nanoseconds)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) {
            logger.error("ended without finishing: a disk or a device does not respond")
            LogOutlet.flushStandardError()
            _exit(ExitStatus.failure)
        }
    }
}

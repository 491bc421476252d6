import Glibc
import Synchronization

/// Messages of libsrt, which writes them to standard error in a format of its own.
///
/// libavformat has no option for them, and this program does not link libsrt itself: its function is looked up among the
/// libraries that the process has loaded. Without it, libavformat has no `srt://` either.
enum SRTLibrary {
    /// `SRT_LOG_HANDLER_FN` (srtcore/logging_api.h): opaque, level, file, line, area, message.
    private typealias Handler =
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, Int32, UnsafePointer<CChar>?,
            UnsafePointer<CChar>?
        ) -> Void
    /// `void srt_setloghandler(void *opaque, SRT_LOG_HANDLER_FN *handler)`.
    private typealias SetHandler = @convention(c) (UnsafeMutableRawPointer?, Handler?) -> Void

    /// The reason for which a server has refused the last connection. Process-wide, because libsrt reports it on its own threads.
    private static let stated = Mutex<String?>(nil)

    /// Receives the messages from now on.
    private static let isReceiving: Bool = {
        guard let symbol = dlsym(nil, "srt_setloghandler") else { return false }
        unsafeBitCast(symbol, to: SetHandler.self)(nil) { _, _, _, _, _, message in
            guard let message else { return }
            SRTLibrary.keep(String(cString: message))
        }
        return true
    }()

    /// Keeps messages off the terminal, and forgets a reason; before a connection.
    static func prepare(for url: String) {
        guard isUsed(by: url), isReceiving else { return }
        stated.withLock { $0 = nil }
    }

    /// Why the server has refused the connection; nil: unknown. libavformat only reports an I/O error.
    static func refusal(by url: String) -> String? {
        isUsed(by: url) ? stated.withLock { $0 } : nil
    }

    /// libavformat's options of the latency, microseconds: `tsbpddelay` is an old name.
    private static let latencyOptions: Set = ["latency", "rcvlatency", "peerlatency", "tsbpddelay"]
    /// The latency may be set by the receiver only.
    private static let shortestDrainNanoseconds: Int64 = 1_000_000_000
    private static let longestDrainNanoseconds: Int64 = 30_000_000_000
    /// Time for the last packets to arrive.
    private static let travelNanoseconds: Int64 = 200_000_000

    /// Time from the last packet until the connection may be closed, nanoseconds; 0: the URL is of another scheme. In live
    /// mode, both ends discard what is in their buffers when the connection ends: the receiver presents packets after the
    /// latency.
    static func drainNanoseconds(of url: String) -> Int64 {
        guard isUsed(by: url) else { return 0 }
        let query = url.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
        let latencies = query.split(separator: "&").compactMap { option -> Int64? in
            let parts = option.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, latencyOptions.contains(String(parts[0])) else { return nil }
            return Int64(parts[1])
        }
        let latency = min(latencies.max() ?? 0, longestDrainNanoseconds / 1_000) * 1_000
        return max(shortestDrainNanoseconds, latency) + travelNanoseconds
    }

    private static func isUsed(by url: String) -> Bool { url.lowercased().hasPrefix("srt:") }

    private static func keep(_ message: String) {
        guard let reason = reason(in: message) else { return }
        stated.withLock { $0 = $0 ?? reason }
    }

    /// The reason in a message, by the texts of `srt_rejectreason_str` (srtcore/core.cpp).
    static func reason(in message: String) -> String? {
        if message.contains("Password required or unexpected") {
            return
                "one end has a passphrase and the other one has none: set 'passphrase' in both, or in neither"
        }
        if message.contains("Incorrect passphrase") {
            return "the server has another passphrase: correct 'passphrase' in the URL"
        }
        return nil
    }
}

import CFFmpeg
import Glibc
import Synchronization

/// Keeps log messages of FFmpeg's libraries off the terminal, and finds the error message of a call.
package enum LibraryLog {
    /// The first error on each thread that collects them. Process-wide, because the library's callback has no context.
    private static let complaints = Mutex<[UInt: String?]>([:])

    /// Silences the libraries; idempotent.
    package static func keepOffTerminal() {
        av_log_set_callback { context, level, format, arguments in
            guard level <= AV_LOG_ERROR, let format, let arguments else { return }
            var line = [CChar](repeating: 0, count: 512)
            var isPrefixed: Int32 = 1
            av_log_format_line2(
                context, level, format, arguments, &line, Int32(line.count), &isPrefixed)
            let bytes = line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            let text = String(decoding: bytes, as: UTF8.self).split(separator: "\n").joined(
                separator: " ")
            if !text.isEmpty { LibraryLog.keep(text) }
        }
    }

    /// Calls the library, and returns the first error that it logs on this thread: often the only source of the reason.
    ///
    /// Nil before ``keepOffTerminal()``.
    package static func complaint(during call: () -> Void) -> String? {
        let thread = UInt(pthread_self())
        complaints.withLock { $0[thread] = .some(nil) }
        call()
        return complaints.withLock { $0.removeValue(forKey: thread) ?? nil }
    }

    private static func keep(_ line: String) {
        let thread = UInt(pthread_self())
        complaints.withLock { complaints in
            guard let first = complaints[thread], first == nil else { return }
            // "[h264_nvenc @ 0x562a30f7b480] Cannot load libcuda.so.1": the address is useless.
            let text = line.split(separator: "] ", maxSplits: 1).last.map(String.init) ?? line
            complaints[thread] = .some(text)
        }
    }
}

package import Logging
package import Wire

extension Logger {
    /// Logs a line of the protocol.
    package func log(_ line: LinkLog) {
        let level: Level =
            switch line.level {
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
        let metadata = Metadata(
            uniqueKeysWithValues: line.metadata.map { ($0.key, "\($0.value)") })
        log(level: level, "\(line.text)", metadata: metadata)
    }
}

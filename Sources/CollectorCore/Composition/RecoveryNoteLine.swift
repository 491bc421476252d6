import Archive
import Wire

extension LinkLog {
    /// A finding of recovery, as a log line.
    init(_ note: RecoveryNote) {
        let level: Level =
            switch note.level {
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        self.init(level, note.text, metadata: note.source.map { ["source": $0] } ?? [:])
    }
}

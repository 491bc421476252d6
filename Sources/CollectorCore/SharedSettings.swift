import Synchronization

/// Settings that several threads read and one may change.
final class SharedSettings: Sendable {
    private let settings: Mutex<ChangeableSettings>

    init(_ settings: ChangeableSettings) {
        self.settings = Mutex(settings)
    }

    var current: ChangeableSettings { settings.withLock { $0 } }

    func set(_ new: ChangeableSettings) { settings.withLock { $0 = new } }
}

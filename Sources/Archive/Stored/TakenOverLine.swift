extension LedgerEntry {
    /// Whether it says that a collector without any files went on with what the store has. Other lines may give the same cause.
    package var isTakenOver: Bool { kind == .resumed && cause == Self.takenOver }
}

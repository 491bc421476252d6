extension LedgerEntry {
    /// Whether it records that a collector without any files continued from the object store. Other kinds of lines may
    /// have the same cause.
    package var isTakenOver: Bool { kind == .resumed && cause == Self.takenOver }
}

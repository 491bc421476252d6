/// A fault of a sample's stamps, and the rule by which it was placed nevertheless.
package enum StampFault: String, Hashable, Sendable, CaseIterable {
    /// DTS not after the previous one, by at most a second: moved to one tick after it.
    case notAfterPrevious
    /// DTS back by more than a second: placed at the end of the track.
    case backwards
    /// DTS more than ten seconds in the future: placed at the end of the track.
    case ahead
    /// DTS more than 400 days in the past: placed at the end of the track.
    case behind
    /// DTS after PTS: decoded at its PTS.
    case decodingAfterPresentation
    /// PTS more than a minute after DTS: presented at its DTS.
    case presentationFarAhead
    /// A duration that is zero, negative or over an hour: replaced by the previous sample's.
    case badDuration

    /// Whether the sample is placed at the end of its track instead of by its stamp.
    var replacesStamp: Bool {
        switch self {
        case .backwards, .ahead, .behind: true
        case .notAfterPrevious, .decodingAfterPresentation, .presentationFarAhead, .badDuration:
            false
        }
    }
}

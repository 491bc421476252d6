/// What was odd about a sample's stamps, and the rule that placed it all the same.
package enum StampFault: String, Hashable, Sendable, CaseIterable {
    /// DTS not after the last one, by a second at most: pushed to one tick after it.
    case notAfterPrevious
    /// DTS back by more than a second: placed where the track runs on.
    case backwards
    /// DTS later than the present by more than ten seconds: placed where the track runs on.
    case ahead
    /// DTS more than 400 days before the present: placed where the track runs on.
    case behind
    /// DTS after PTS: decoded at its PTS.
    case decodingAfterPresentation
    /// PTS more than a minute after DTS: presented at its DTS.
    case presentationFarAhead
    /// A duration that is zero, negative or over an hour: as long as the sample before.
    case badDuration

    /// Whether the sample lies where its track runs on, and not where its stamp says.
    var replacesStamp: Bool {
        switch self {
        case .backwards, .ahead, .behind: true
        case .notAfterPrevious, .decodingAfterPresentation, .presentationFarAhead, .badDuration:
            false
        }
    }
}

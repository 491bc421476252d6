/// Text from a camera, made safe to display: at most `limit` Unicode scalars, and spaces instead of characters that break lines,
/// change the direction of text or control a terminal.
func shownText(_ text: some StringProtocol, limit: Int = 96) -> String {
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(limit) {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
            .unassigned:
            shown.append(" ")
        default: shown.append(scalar)
        }
    }
    let words = String(shown).split(separator: " ")
    return words.joined(separator: " ")
}

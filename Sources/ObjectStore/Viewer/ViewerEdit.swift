/// The document with which labels and the protection of a session are changed through a viewer. Absent members stay unchanged.
package struct ViewerEdit: Hashable, Sendable, Codable {
    /// Empty: removed.
    package var name: String?
    /// Empty: removed.
    package var note: String?
    package var addTags: [String]?
    package var removeTags: [String]?
    package var isProtected: Bool?

    package init(
        name: String? = nil, note: String? = nil, addTags: [String]? = nil,
        removeTags: [String]? = nil, isProtected: Bool? = nil
    ) {
        self.name = name
        self.note = note
        self.addTags = addTags
        self.removeTags = removeTags
        self.isProtected = isProtected
    }
}

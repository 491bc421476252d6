import CV4L2
import Glibc

/// A node's controls: any descriptor of a node can read and set them, also while another one captures.
extension VideoNode {
    /// More than any device has; a driver with more is faulty.
    private static let mostControls = 512
    private static let mostChoices: Int64 = 256

    /// All user controls, in the kernel's order.
    func controls() -> [CameraControl] {
        var result: [CameraControl] = []
        var id = CV4L2_CTRL_ALL
        while result.count < Self.mostControls {
            var query = v4l2_query_ext_ctrl()
            query.id = id
            guard asks(UInt(CV4L2_QUERY_EXT_CTRL), &query) else { break }
            id = query.id | CV4L2_CTRL_ALL
            if let control = control(query) { result.append(control) }
        }
        return result
    }

    /// One control; nil: the node does not have it.
    func control(_ id: UInt32) -> CameraControl? {
        var query = v4l2_query_ext_ctrl()
        query.id = id
        return asks(UInt(CV4L2_QUERY_EXT_CTRL), &query) ? control(query) : nil
    }

    private func control(_ query: v4l2_query_ext_ctrl) -> CameraControl? {
        func has(_ flag: Int32) -> Bool { query.flags & UInt32(flag) != 0 }
        if query.flags & CV4L2_CTRL_FLAG_DISABLED != 0 || has(V4L2_CTRL_FLAG_HAS_PAYLOAD) {
            return nil
        }
        let kind: CameraControl.Kind
        switch v4l2_ctrl_type(query.type) {
        case V4L2_CTRL_TYPE_INTEGER, V4L2_CTRL_TYPE_INTEGER64: kind = .integer
        case V4L2_CTRL_TYPE_BOOLEAN: kind = .boolean
        case V4L2_CTRL_TYPE_BUTTON: kind = .button
        case V4L2_CTRL_TYPE_BITMASK: kind = .bitmask
        case V4L2_CTRL_TYPE_MENU, V4L2_CTRL_TYPE_INTEGER_MENU: kind = .menu(choices(query))
        default: return nil  // a class's name, a string, an array
        }
        let isReadable = kind != .button && !has(V4L2_CTRL_FLAG_WRITE_ONLY)
        return CameraControl(
            id: query.id, name: CameraControl.name(from: text(of: query.name)), kind: kind,
            minimum: query.minimum, maximum: query.maximum, step: query.step,
            usual: query.default_value, value: isReadable ? value(of: query.id) : nil,
            isReadOnly: has(V4L2_CTRL_FLAG_READ_ONLY), isInactive: has(V4L2_CTRL_FLAG_INACTIVE))
    }

    private func choices(_ query: v4l2_query_ext_ctrl) -> [CameraControl.Choice] {
        var result: [CameraControl.Choice] = []
        let most = min(query.maximum, query.minimum + Self.mostChoices)
        guard query.minimum >= 0, most >= query.minimum else { return [] }
        for index in query.minimum...most {
            // struct v4l2_querymenu is packed: id, index, then 32 bytes of a name or 8 of a number, and 4 reserved.
            var menu = MenuRecord()
            menu.store(query.id, at: 0)
            menu.store(UInt32(index), at: 4)
            guard menu.ask(self, UInt(CV4L2_QUERYMENU)) else { continue }
            let name =
                v4l2_ctrl_type(query.type) == V4L2_CTRL_TYPE_INTEGER_MENU
                ? "\(menu.load(Int64.self, at: 8))" : menu.text(from: 8, count: 32)
            result.append(CameraControl.Choice(value: index, name: name))
        }
        return result
    }

    // MARK: Values

    /// A control's value; nil: it cannot be read.
    func value(of id: UInt32) -> Int64? {
        var values = [(id: id, value: Int64(0))]
        do throws(ControlFault) {
            try exchange("G_EXT_CTRLS", UInt(CV4L2_G_EXT_CTRLS), &values)
            return values[0].value
        } catch {
            return nil
        }
    }

    /// Sets all of these, or none: they are tried first.
    func set(_ settings: [(id: UInt32, value: Int64)]) throws(ControlFault) {
        if settings.isEmpty { return }
        var values = settings
        try exchange("TRY_EXT_CTRLS", UInt(CV4L2_TRY_EXT_CTRLS), &values)
        values = settings
        try exchange("S_EXT_CTRLS", UInt(CV4L2_S_EXT_CTRLS), &values)
    }

    private func exchange(
        _ name: String, _ request: UInt, _ values: inout [(id: UInt32, value: Int64)]
    ) throws(ControlFault) {
        // struct v4l2_ext_control is packed: id, size, 4 reserved bytes, then 8 bytes of value.
        let size = MemoryLayout<v4l2_ext_control>.size
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: size * values.count, alignment: 8)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size * values.count)
        for (place, entry) in values.enumerated() {
            memory.storeBytes(of: entry.id, toByteOffset: place * size, as: UInt32.self)
            let value = place * size + Self.valueOffset
            if is64(entry.id) {
                memory.storeBytes(of: entry.value, toByteOffset: value, as: Int64.self)
            } else {
                memory.storeBytes(
                    of: Int32(truncatingIfNeeded: entry.value), toByteOffset: value,
                    as: Int32.self)
            }
        }
        var list = v4l2_ext_controls()
        list.count = UInt32(values.count)
        list.error_idx = list.count
        list.controls = memory.assumingMemoryBound(to: v4l2_ext_control.self)
        do throws(KernelFault) {
            try call(name, request, &list)
        } catch {
            let place = Int(list.error_idx)
            throw ControlFault(
                id: values.indices.contains(place) ? values[place].id : nil, fault: error)
        }
        for place in values.indices {
            let value = memory + place * size + Self.valueOffset
            values[place].value =
                is64(values[place].id)
                ? value.loadUnaligned(as: Int64.self) : Int64(value.loadUnaligned(as: Int32.self))
        }
    }

    private static let valueOffset = 12

    private func is64(_ id: UInt32) -> Bool {
        var query = v4l2_query_ext_ctrl()
        query.id = id
        return asks(UInt(CV4L2_QUERY_EXT_CTRL), &query)
            && v4l2_ctrl_type(query.type) == V4L2_CTRL_TYPE_INTEGER64
    }

    // MARK: The camera's own encoder

    private static var keyframeControls: [UInt32] {
        [CV4L2_CID_GOP_SIZE, CV4L2_CID_H264_I_PERIOD]
    }

    /// The configurable range of its own encoder.
    func encoderAbilities() -> CameraEncoderAbilities {
        func range(_ control: CameraControl?) -> ClosedRange<Int>? {
            guard let control, !control.isReadOnly, control.maximum >= control.minimum else {
                return nil
            }
            return Int(clamping: control.minimum)...Int(clamping: control.maximum)
        }
        let keyframes = Self.keyframeControls.compactMap { id in control(id) }.first
        return CameraEncoderAbilities(
            bitrates: range(control(CV4L2_CID_BITRATE)), keyframePictures: range(keyframes))
    }

    /// Configures its own encoder, as far as possible.
    func tellEncoder(bitrate: Int, keyframePictures: Int) throws(ControlFault) {
        var requests: [(id: UInt32, value: Int64)] = [
            (CV4L2_CID_BITRATE, Int64(bitrate)), (CV4L2_CID_B_FRAMES, 0),
            (CV4L2_CID_REPEAT_SEQ_HEADER, 1),
        ]
        requests += Self.keyframeControls.map { ($0, Int64(keyframePictures)) }
        for (id, value) in requests {
            guard let control = control(id), !control.isReadOnly else { continue }
            try set([(id, min(max(value, control.minimum), control.maximum))])
        }
    }
}

/// A control that could not be read or set.
struct ControlFault: Error, Hashable {
    /// `nil` if no single control is the cause.
    var id: UInt32?
    var fault: KernelFault
}

/// struct v4l2_querymenu, as bytes.
private struct MenuRecord {
    private var bytes = [UInt8](repeating: 0, count: MemoryLayout<v4l2_querymenu>.size)

    mutating func store(_ value: UInt32, at offset: Int) {
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: value, toByteOffset: offset, as: UInt32.self)
        }
    }

    func load<Value: BitwiseCopyable>(_ type: Value.Type, at offset: Int) -> Value {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }

    func text(from offset: Int, count: Int) -> String {
        String(decoding: bytes[offset..<offset + count].prefix { $0 != 0 }, as: UTF8.self)
    }

    mutating func ask(_ node: borrowing VideoNode, _ request: UInt) -> Bool {
        bytes.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { ioctl(node.descriptor, request, $0) >= 0 } ?? false
        }
    }
}

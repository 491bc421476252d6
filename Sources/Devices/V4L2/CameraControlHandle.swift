import CV4L2

/// A camera's controls and crop, on its own descriptor: usable while another thread or program captures.
///
/// Belongs to one thread.
package struct CameraControlHandle: ~Copyable {
    private let node: VideoNode
    private let name: String

    package init(_ info: CameraInfo) throws(DeviceError) {
        name = info.stableName
        do throws(KernelFault) {
            node = try VideoNode(info.node)
        } catch {
            throw DeviceError(opening: name, node: info.node, error)
        }
    }

    /// All controls with their present values, in the kernel's order.
    package func controls() -> [CameraControl] { node.controls() }

    /// Sets all of these, or none: each is checked and tried first, and if one fails nevertheless, the others are
    /// restored.
    package func set(_ settings: [(name: String, value: Int64)]) throws(DeviceError) {
        let controls = node.controls()
        var values: [(id: UInt32, value: Int64)] = []
        for (wanted, value) in settings {
            guard let control = controls.first(where: { $0.name == wanted }) else {
                let all = controls.map(\.name).joined(separator: ", ")
                throw .controlRefused(
                    name, control: wanted,
                    reason: all.isEmpty ? "the camera has no controls" : "it has \(all)")
            }
            if let flaw = control.flaw(of: value) {
                throw .controlRefused(name, control: wanted, reason: flaw)
            }
            values.append((control.id, value))
        }
        let before = values.compactMap { entry in
            controls.first { $0.id == entry.id }.flatMap { control in
                control.value.map { (id: control.id, value: $0) }
            }
        }
        do throws(ControlFault) {
            try node.set(values)
        } catch {
            let reason = restore(before) ?? error.fault.reason
            let culprit = controls.first { $0.id == error.id }?.name
            throw .controlRefused(
                name, control: culprit ?? settings.map(\.name).joined(separator: ", "),
                reason: reason)
        }
    }

    /// Restores values; returns the error, if any.
    private func restore(_ values: [(id: UInt32, value: Int64)]) -> String? {
        do throws(ControlFault) {
            try node.set(values)
            return nil
        } catch {
            return "\(error.fault.reason), and the previous values could not be restored"
        }
    }

    // MARK: Crop

    /// The part of the sensor in the picture; nil: the driver cannot crop.
    package func crop() -> CameraArea? { area(UInt32(V4L2_SEL_TGT_CROP)) }

    /// The whole sensor; nil: the driver cannot crop.
    package func wholeArea() -> CameraArea? { area(UInt32(V4L2_SEL_TGT_CROP_DEFAULT)) }

    /// Crops, as near to the request as the driver can; returns the actual area.
    package func setCrop(_ area: CameraArea) throws(DeviceError) -> CameraArea {
        var selection = selection(UInt32(V4L2_SEL_TGT_CROP))
        selection.r = v4l2_rect(
            left: Int32(clamping: area.left), top: Int32(clamping: area.top),
            width: UInt32(clamping: area.width), height: UInt32(clamping: area.height))
        do throws(KernelFault) {
            try node.call("S_SELECTION", UInt(CV4L2_S_SELECTION), &selection)
        } catch {
            throw .controlRefused(name, control: "crop", reason: error.reason)
        }
        return CameraArea(selection.r)
    }

    private func area(_ target: UInt32) -> CameraArea? {
        var selection = selection(target)
        return node.asks(UInt(CV4L2_G_SELECTION), &selection) ? CameraArea(selection.r) : nil
    }

    private func selection(_ target: UInt32) -> v4l2_selection {
        var selection = v4l2_selection()
        selection.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        selection.target = target
        return selection
    }
}

extension CameraArea {
    fileprivate init(_ rectangle: v4l2_rect) {
        self.init(
            left: Int(rectangle.left), top: Int(rectangle.top), width: Int(rectangle.width),
            height: Int(rectangle.height))
    }
}

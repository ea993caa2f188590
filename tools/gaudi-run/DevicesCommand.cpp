//===- DevicesCommand.cpp - gaudi-run devices -----------------------------===//
#include "runtime/base/Text.h"
#include "runtime/cache/Json.h"
#include "runtime/device/Devices.h"
#include "tools/gaudi-run/Commands.h"

namespace gaudi::run {

Status devicesCommand(const Options &, const Console &console) {
  std::string out;
  json::Writer w;
  w.beginArray();
  for (const Device &device : devices()) {
    Status usable = device.probe();
    out += cat(device.name, std::string(device.name.size() < 10 ? 10 - device.name.size() : 1, ' '), device.description,
               usable.ok() ? "" : cat(" (not usable: ", usable.message(), ")"), "\n");
    w.beginObject().field("name", device.name).field("description", device.description).field("usable", usable.ok());
    w.field("reason", usable.message()).endObject();
  }
  GAUDI_TRY(console.result(out));
  return console.json(w.endArray().text());
}

} // namespace gaudi::run

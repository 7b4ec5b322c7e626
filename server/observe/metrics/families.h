// Shorthands for metric families that are made anew at each scrape. For the collectors of this
// folder. Pure functions.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_FAMILIES_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_FAMILIES_H_

#include <initializer_list>
#include <utility>

#include "prometheus/client_metric.h"
#include "prometheus/metric_family.h"
#include "prometheus/metric_type.h"

namespace warpfold {

// A sample of a counter or a gauge, without labels.
inline prometheus::ClientMetric Sample(prometheus::MetricType type, double value) {
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return metric;
}

// One sample.
inline prometheus::MetricFamily Plain(prometheus::MetricType type, const char* name,
                                      const char* help, double value) {
  return {name, help, type, {Sample(type, value)}};
}

// One sample for each value of `label`.
inline prometheus::MetricFamily Labelled(
    prometheus::MetricType type, const char* name, const char* help, const char* label,
    std::initializer_list<std::pair<const char*, double>> values) {
  prometheus::MetricFamily family{name, help, type, {}};
  for (const auto& [label_value, value] : values) {
    prometheus::ClientMetric metric = Sample(type, value);
    metric.label.push_back({label, label_value});
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_FAMILIES_H_

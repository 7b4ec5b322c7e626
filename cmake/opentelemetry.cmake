# Decides whether the server can send spans by OTLP (server/observe/trace/otlp.h), and says so once.
set(WARPFOLD_OPENTELEMETRY AUTO CACHE STRING "Spans by OTLP: AUTO (when opentelemetry-cpp is found), ON or OFF")
set_property(CACHE WARPFOLD_OPENTELEMETRY PROPERTY STRINGS AUTO ON OFF)

set(WARPFOLD_HAS_OPENTELEMETRY OFF)
if(NOT WARPFOLD_OPENTELEMETRY STREQUAL "OFF")
  find_package(opentelemetry-cpp CONFIG QUIET)
  if(TARGET opentelemetry-cpp::otlp_http_exporter)
    set(WARPFOLD_HAS_OPENTELEMETRY ON)
    message(STATUS "warpfold: spans by OTLP, by opentelemetry-cpp ${OPENTELEMETRY_VERSION}")
  elseif(WARPFOLD_OPENTELEMETRY STREQUAL "ON")
    message(FATAL_ERROR "WARPFOLD_OPENTELEMETRY=ON, but there is no opentelemetry-cpp with its OTLP/HTTP exporter")
  endif()
endif()
